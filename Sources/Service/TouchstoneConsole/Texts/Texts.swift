// The console's texts in each language, read from the files in `Languages`. Pure.

internal import TouchstonePolicy

/// The texts of one language, by their names.
struct Texts: Sendable {
  let texts: [String: String]

  /// - Parameter file: lines of the form "name = text"; others are notes.
  init(_ file: [UInt8]) {
    let lines = String(decoding: file, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
    let pairs = lines.map { $0.split(separator: " = ", maxSplits: 1).map(String.init) }.filter { $0.count == 2 }
    texts = Dictionary(pairs.map { ($0[0], $0[1]) }) { _, last in last }
  }

  subscript(name: String) -> String? { texts[name] }

  static func of(_ language: Language) -> Texts {
    switch language {
    case .english: english
    case .simplifiedChinese: simplifiedChinese
    }
  }

  private static let english = Texts(PackageResources.en_txt)
  private static let simplifiedChinese = Texts(PackageResources.zh_Hans_txt)

  /// Puts the values into the places of {1}, {2} and so on. What a value holds is no place.
  static func filled(_ text: String, _ values: [String]) -> String {
    guard !values.isEmpty else { return text }
    var (filled, rest) = ("", text[...])
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      let value = Int(rest[rest.index(after: open)..<close]).flatMap { values.indices.contains($0 - 1) ? $0 - 1 : nil }
      filled += rest[..<open]
      filled += value.map { values[$0][...] } ?? rest[open...close]
      rest = rest[rest.index(after: close)...]
    }
    return filled + rest
  }
}

/// A text of the console, by its name in the languages' files.
enum Phrase: String, Sendable, CaseIterable {
  // The language, as its speakers call it
  case ownName
  // Frame
  case product, skip, mainMenu, language, search, events, policies, explain, health, signOut, signedInAs,
    timeOffset, now, ago, ahead, seconds, minutes, hours, days
  // Sign in
  case signIn, operatorName, password, signInFailed, signInLockedForMinute, signInLocked, signInBusy,
    signInNotRecorded, sessionEnded, sessionMoved, signedOut, signInByPasskey, firstSignIn, passkeyNext, passkeyNeeded,
    passkeyFailed, passkeyCancelled, passkeyNeedsScript, signInByProvider, providerDown, providerRefused,
    providerForgotten,
    roleMissing
  // Account
  case account, passkeys, passkeyFirst, passkeyName, addPasskey, removePasskey, passkeyRemoved, passkeyNotAdded,
    changePassword, presentPassword, newPassword, repeatedPassword, passwordLength, passwordsDiffer,
    presentPasswordWrong, passwordChanged, signInAgain, sessions, endSessions
  // Find
  case findProfile, application, profile, profileHint, find, show, searchText, searchHint, searchPrefix,
    found, moreFound, nothingFound, deviceProfiles, deviceUnbound
  // Profile
  case whyLoginFails, policy, devices, secrets, noSecrets, switches, timeline, revokedBindings, noActiveBinding,
    noEvents, eventsUnavailable, unnamedDevice, passkey, device, deviceID, model, system, biometry, failures,
    state, lockedOut, notLocked, locked, disabled, lockedUntil, created, lastUsed, lastPosture, proven, unproven,
    never, attestation, keys, enrolled, notEnrolled, unavailable, devicePasscode, isSet, isNotSet, isOn, isOff,
    passcode, gesture, preferred, yes, no, unknown, noRecovery
  // Events
  case time, event, caller, reason, number, details, earlier, newest, follow, stopFollowing, following,
    kind, allKinds, allEvents, erasedEvent, eventWindow, archivedEvents, since, until,
    exportCSV, exportJSON, exportTooLong
  // Policies
  case factors, settings, tryPolicy, explainTitle, explainHint, bindingID, orProfile, otherPosture, platform,
    lastSeen, osVersion, sensor, sensorWorks, fingerEnrolled, sensorLocked, devicePasscodeSet, explainNow, result,
    rules, rule, passed, notPassed, personSees, postureUsed
  // Health
  case thisReplica, store, replicas, auditLog, upkeep, serving, notServing, version, startedAt, newestEvent,
    firstKeptEvent, verifiedAt, intact, broken, notYet, sweptAt, archivedAt, reloadedAt, clockOffset, certificateEnd,
    storeFails, connection, connections, clockSeconds
  // Actions
  case unlock, revoke, switchOn, switchOff, prefer, preferNone, erase, eraseHeading, cancel, reasonLabel,
    eraseReasonHint, typeProfile, typedWrong, archivedThrough, nothingChanged, backToProfile, backToSearch
  // Refusals
  case refused, notFound, noPage, unknownProfile, notGranted, applicationNotGranted, forgedForm, hostRemedy,
    opening, continueToPage, malformedRequest, plaintext, meanwhile, serviceBusy, inDoubt, invalid
  // Factors, sensors, proofs, keys, roles
  case byBiometrics, byDeviceOwner, byPasscode, byGesture, byPasskey, byOwnLogin, byOtherWay, touchID, faceID,
    opticID, voice, noSensor, sensorNotTold, selfAttested, attestedByApp, attestedByHardware, attestedByChip,
    notAttested, presentBiometrics, anyBiometrics, byDevicePasscode, otherKey, hardwareKey, profileTouchID, roleRead,
    roleSupport, roleAdmin
  // Why an attempt failed
  case lastAttempt
}

extension Reader {
  /// - Parameter values: take the places of {1}, {2} and so on.
  func callAsFunction(_ phrase: Phrase, _ values: String...) -> String {
    Texts.filled(text(named: phrase.rawValue) ?? phrase.rawValue, values)
  }

  /// Returns a text whose name the code puts together; `nil` if no language has it.
  func text(named name: String) -> String? { Texts.of(language)[name] ?? Texts.of(.default)[name] }
}
