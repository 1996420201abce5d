// A profile: whether a login is possible, its devices, its secrets and switches, its events. Pure.

internal import TouchstoneCodec
internal import TouchstoneService

/// Everything that the page shows of one profile.
struct ProfileView: Sendable {
  var applicationID: String
  var profileID: String
  var profile: V1.GetProfileResponse
  var policy: String
  var policies: [String]
  /// `nil`: they cannot be read now.
  var events: EventList?
  /// The actions that the operator's role allows.
  var actions: Set<ConsoleAction>
  var done: ConsoleAction?
  /// The operator may see a device's profiles.
  var maySearch: Bool

  /// The one that was used last comes first; one that was never used counts from its making.
  var activeBindings: [V1.Binding] {
    func lastSign(_ binding: V1.Binding) -> Int64 { (binding.lastUsedAt ?? binding.createdAt)?.seconds ?? 0 }
    return profile.bindings.filter { $0.state == .active }.sorted { lastSign($0) > lastSign($1) }
  }

  func device(of binding: V1.Binding) -> V1.DeviceStanding? {
    profile.devices.first { $0.deviceID.utf8.elementsEqual(binding.deviceID.utf8) }
  }

  func posture(of binding: V1.Binding) -> V1.SeenPosture? {
    profile.postures.first { $0.bindingID.utf8.elementsEqual(binding.bindingID.utf8) }
  }
}

extension Page {
  static func profile(_ reader: Reader, _ view: ProfileView) -> Page {
    let notice: HTML? = view.done.map { Form.notice(reader($0, .done)) }
    return Page(
      view.profileID,
      """
      \(notice)<p class="sub">\(reader(.profile)) · \(reader(.application)) \(HTML.code(view.applicationID))</p>
      \(login(reader, view))
      <section aria-labelledby="devices">
      <h2 id="devices">\(reader(.devices))</h2>
      \(view.activeBindings.isEmpty ? "<p>\(reader(.noActiveBinding))</p>" : HTML.empty)
      \(view.activeBindings.map { device(reader, view, $0) })
      \(revoked(reader, view))
      </section>
      <div class="columns">
      \(secrets(reader, view))
      \(switches(reader, view))
      </div>
      \(timeline(reader, view))
      \(erasure(reader, view))
      """)
  }

  // MARK: Whether a login is possible

  private static func login(_ reader: Reader, _ view: ProfileView) -> HTML {
    let entries = LoginReport(view.profile).entries
    let verdicts = entries.map { entry -> HTML in
      let name: HTML? =
        entries.count > 1
        ? "<strong>\(HTML.name(entry.name(in: reader.language, shown: HTML.isolated, time: reader.minuteText)))</strong>: "
        : nil
      return verdict(
        reader, entry.diagnosis.answer, entry.text(in: reader.language, time: reader.minuteText), name)
    }
    let last = reader.lastFailure(in: view.events?.events ?? []).map { text -> HTML in "<p>\(text)</p>\n" }
    let advisory: HTML? =
      view.profile.advisories.contains("NO_RECOVERY_FACTOR") ? "<p>\(reader(.noRecovery))</p>\n" : nil
    return """
      <section aria-labelledby="login" class="verdicts">
      <h2 id="login">\(reader(.whyLoginFails))</h2>
      \(verdicts)\(last)\(advisory)<form method="get" action="\(reader.link(ConsolePath.profile))" class="inline">
      \(Form.hidden(Form.Field.application, view.applicationID))
      \(Form.hidden(Form.Field.profile, view.profileID))
      \(Form.select("policy", reader(.policy), view.policies.map { ($0, $0) }, chosen: view.policy))
      <button class="quiet">\(reader(.show))</button>
      </form>
      </section>
      """
  }

  /// Not by colour alone: a word says whether it is possible.
  static func verdict(_ reader: Reader, _ answer: V1.LoginAnswer, _ text: String, _ name: HTML? = nil) -> HTML {
    let kind: HTML = answer == .yes ? "good" : "bad"
    let mark = reader(answer == .yes ? .yes : answer == .no ? .no : .unknown)
    return "<p class=\"verdict \(kind)\"><span class=\"mark\">\(mark)</span> <span>\(name)\(text)</span></p>\n"
  }

  static func deviceName(_ reader: Reader, _ binding: V1.Binding) -> HTML {
    binding.deviceName.isEmpty
      ? "\(reader(binding.passkey == nil ? .unnamedDevice : .passkey))" : HTML.name(binding.deviceName)
  }

  // MARK: Devices

  private static func device(_ reader: Reader, _ view: ProfileView, _ binding: V1.Binding) -> HTML {
    let standing = view.device(of: binding)
    let isLocked = standing?.biometryLockedOut == true
    var rows: [(String, HTML)] = []
    if let standing {
      let state: HTML = isLocked ? "<strong class=\"bad\">\(reader(.lockedOut))</strong>" : "\(reader(.notLocked))"
      rows.append((reader(.state), state))
      rows.append((reader(.failures), "\(standing.biometryFailures)"))
    }
    rows += posture(reader, view.posture(of: binding))
    rows += facts(reader, view, binding)
    return """
      <article class="card">
      <h3>\(deviceName(reader, binding))</h3>
      \(Form.list(rows, isWide: true))
      <p class="actions">\(unlockLink(reader, view, binding, standing))\(revokeLink(reader, view, binding))</p>
      </article>

      """
  }

  private static func posture(_ reader: Reader, _ seen: V1.SeenPosture?) -> [(String, HTML)] {
    guard let seen, let posture = seen.posture else { return [(reader(.lastPosture), "\(reader(.never))")] }
    let time = seen.seenAt.map { reader.time($0.seconds) }
    let biometry = [
      reader(posture.biometryType.phrase),
      reader(
        !posture.biometryAvailable
          ? .unavailable : posture.biometryLockedOut ? .locked : posture.biometryEnrolled ? .enrolled : .notEnrolled),
    ].joined(separator: ", ")
    return [
      (reader(.system), HTML.name([posture.platform, posture.osVersion].joined(separator: " "))),
      (reader(.model), posture.deviceModel.isEmpty ? "–" : HTML.name(posture.deviceModel)),
      (reader(.biometry), "\(biometry)"),
      (reader(.devicePasscode), "\(reader(posture.passcodeSet ? .isSet : .isNotSet))"),
      (reader(.lastPosture), "\(time) (\(reader(seen.proven ? .proven : .unproven)))"),
    ]
  }

  private static func facts(_ reader: Reader, _ view: ProfileView, _ binding: V1.Binding) -> [(String, HTML)] {
    let device = reader.link(
      ConsolePath.device, [(Form.Field.application, view.applicationID), (Form.Field.device, binding.deviceID)])
    let id = HTML.code(binding.deviceID)
    let keys = [binding.credential.phrase] + binding.protections.map(\.phrase)
    return [
      (reader(.created), binding.createdAt.map { reader.time($0.seconds) } ?? "–"),
      (reader(.lastUsed), binding.lastUsedAt.map { reader.time($0.seconds) } ?? "\(reader(.never))"),
      (reader(.keys), "\(keys.map { reader($0) }.joined(separator: ", "))"),
      (reader(.attestation), "\(reader(binding.attestationLevel.phrase))"),
      (reader(.bindingID), HTML.code(binding.bindingID)),
      (reader(.deviceID), view.maySearch ? "<a href=\"\(device)\">\(id)</a>" : id),
    ]
  }

  private static func unlockLink(
    _ reader: Reader, _ view: ProfileView, _ binding: V1.Binding, _ standing: V1.DeviceStanding?
  ) -> HTML? {
    guard let standing, standing.biometryLockedOut || standing.biometryFailures > 0 else { return nil }
    return link(reader, view, .unlockDevice, .unlock, target: binding.deviceID, of: deviceName(reader, binding))
  }

  private static func revokeLink(_ reader: Reader, _ view: ProfileView, _ binding: V1.Binding) -> HTML? {
    link(reader, view, .revoke, .revoke, target: binding.bindingID, of: deviceName(reader, binding))
  }

  /// A link to the page that asks for the reason. It names what it is about for readers that do not see its place.
  private static func link(
    _ reader: Reader, _ view: ProfileView, _ action: ConsoleAction, _ label: Phrase, target: String = "", of name: HTML
  ) -> HTML? {
    guard view.actions.contains(action) else { return nil }
    var fields = [
      (Form.Field.action, action.rawValue), (Form.Field.application, view.applicationID),
      (Form.Field.profile, view.profileID),
    ]
    if action.hasTarget { fields.append((Form.Field.target, target)) }
    let path = reader.link(ConsolePath.action, fields)
    let kind: HTML =
      if action.isFinal { "button danger" } else if action.changesSwitches { "button quiet" } else { "button" }
    return "<a class=\"\(kind)\" href=\"\(path)\">\(reader(label))<span class=\"unseen\"> \(name)</span></a>\n"
  }

  private static func revoked(_ reader: Reader, _ view: ProfileView) -> HTML {
    let bindings = view.profile.bindings.filter { $0.state != .active }
    guard !bindings.isEmpty else { return .empty }
    let items = bindings.map { binding -> HTML in
      let last = binding.lastUsedAt.map { reader.time($0.seconds) } ?? "\(reader(.never))"
      return """
        <li>\(deviceName(reader, binding)) · \(HTML.code(binding.bindingID)) · \(reader(.lastUsed)): \(last)</li>

        """
    }
    return """
      <details><summary>\(reader(.revokedBindings)) (\(bindings.count))</summary>
      <ul>
      \(items)</ul>
      </details>
      """
  }

  // MARK: Secrets and switches

  private static func secrets(_ reader: Reader, _ view: ProfileView) -> HTML {
    let cards = view.profile.secrets.map { secret -> HTML in
      let isPasscode = secret.kind == .passcode
      let name = reader(isPasscode ? .passcode : .gesture)
      let isDue = !secret.disabled && (secret.failures > 0 || secret.lockedUntil != nil)
      let link =
        isDue
        ? link(reader, view, isPasscode ? .unlockPasscode : .unlockGesture, .unlock, of: "\(name)") : nil
      let rows: [(String, HTML)] = [
        (reader(.state), secretState(reader, secret)), (reader(.failures), "\(secret.failures)"),
      ]
      return """
        <h3>\(name)</h3>
        \(Form.list(rows))
        <p class="actions">\(link)</p>

        """
    }
    return """
      <section aria-labelledby="secrets" class="card">
      <h2 id="secrets">\(reader(.secrets))</h2>
      \(cards.isEmpty ? "<p>\(reader(.noSecrets))</p>" : HTML.empty)\(cards)
      </section>
      """
  }

  private static func secretState(_ reader: Reader, _ secret: V1.SecretStanding) -> HTML {
    if secret.disabled { return "<strong class=\"bad\">\(reader(.disabled))</strong>" }
    guard let end = secret.lockedUntil, end.seconds > reader.now else { return "\(reader(.notLocked))" }
    return "<strong class=\"bad\">\(reader(.lockedUntil)) \(reader.time(end.seconds))</strong>"
  }

  private static func switches(_ reader: Reader, _ view: ProfileView) -> HTML {
    guard let settings = view.profile.settings else { return .empty }
    let ways = UnlockSwitch.allCases.map { way -> HTML in
      var state = [reader(way.isOn(in: settings) ? .isOn : .isOff)]
      if !way.isSet(in: settings) { state.append(reader(.isNotSet)) }
      if settings.preferred == way.factor { state.append(reader(.preferred)) }
      let name: HTML = "\(reader(way.phrase))"
      let actions: [(ConsoleAction, Phrase)] = [
        (.switchOn(way), .switchOn), (.switchOff(way), .switchOff), (.prefer(way), .prefer),
      ]
      let links = actions.compactMap { action, label in
        action.changed(settings) == settings ? nil : link(reader, view, action, label, of: name)
      }
      return """
        <h3>\(name)</h3>
        \(Form.list([(reader(.state), "\(state.joined(separator: ", "))")]))
        <p class="actions">\(links)</p>

        """
    }
    let noPreference =
      settings.preferred == .unspecified
      ? nil : link(reader, view, .preferNone, .preferNone, of: "\(reader(.switches))")
    return """
      <section aria-labelledby="switches" class="card">
      <h2 id="switches">\(reader(.switches))</h2>
      \(ways)<p class="actions">\(noPreference)</p>
      </section>
      """
  }

  // MARK: Events and erasure

  private static func timeline(_ reader: Reader, _ view: ProfileView) -> HTML {
    let path = reader.link(
      ConsolePath.events,
      [(Form.Field.application, view.applicationID), (Form.Field.profile, view.profileID)])
    let table = view.events.map { eventTable(reader, $0.events, showsProfile: false) }
    return """
      <section aria-labelledby="timeline">
      <h2 id="timeline">\(reader(.timeline))</h2>
      \(table ?? "<p>\(reader(.eventsUnavailable))</p>")
      \(view.events.flatMap { archived(reader, $0) })
      <p><a href="\(path)">\(reader(.allEvents))</a></p>
      </section>
      """
  }

  private static func erasure(_ reader: Reader, _ view: ProfileView) -> HTML {
    guard let link = link(reader, view, .erase, .erase, of: HTML.name(view.profileID)) else { return .empty }
    return """
      <section aria-labelledby="erasure">
      <h2 id="erasure">\(reader(.eraseHeading))</h2>
      <p>\(reader(ConsoleAction.erase, .consequence))</p>
      <p class="actions">\(link)</p>
      </section>
      """
  }
}
