import TestSupport
import Testing
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// R37: every binding that can be made beside unknown ids. CanEvaluatePolicy counts and writes nothing, so an asker
/// may try every posture; no answer may be one that only unknown ids give.
struct StandInPopulationTests {
  /// A binding, and the profile behind it, as the rules see them. No asker has the domain state, so all baselines have the
  /// same here.
  private struct Account: Hashable {
    var binding: BindingStanding
    var profile: ProfileStanding

    init(_ binding: BindingStanding, _ profile: ProfileStanding) {
      (self.binding, self.profile) = (binding, profile)
      self.binding.baseline?.domainState = Array("the enrolled fingers".utf8)
      self.binding.isActive = true
      self.profile.settings.updatedAt = nil
    }
  }

  private static let now = UnixTime(seconds: 1_800_000_000)
  private static let unknownCount = 1_000
  private static let seeds: [UInt64] = [1, 2, 3]

  /// By support.apple.com/100100, and written down apart from `OSReleases`, which is what is tested. Android's and the web's
  /// versions play no part.
  private static let releases: [Platform: [UInt32]] = [
    .iOS: [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 26], .iPadOS: [13, 14, 15, 16, 17, 18, 26],
    .macOS: [10, 11, 12, 13, 14, 15, 26], .android: [14], .web: [1],
  ]

  private static let policies =
    EvaluationPolicy.builtIn + [
      EvaluationPolicy(name: "secrets", purpose: .login, factors: [.passcode, .gesture], tokenLifetime: nil)
    ] + ProofLevel.allCases.filter { $0 > .none }.map(asking) + [.none, .tee].map(askingForBoundPasskeys)

  private static func asking(for level: ProofLevel) -> EvaluationPolicy {
    var policy = EvaluationPolicy(
      name: "proven", purpose: .login, factors: [.biometry, .deviceOwner, .passcode], tokenLifetime: nil)
    policy.minimumAttestation = level
    return policy
  }

  private static func askingForBoundPasskeys(_ level: ProofLevel) -> EvaluationPolicy {
    var policy = EvaluationPolicy(
      name: "bound", purpose: .login, factors: [.biometry, .passcode, .passkey], tokenLifetime: nil)
    (policy.minimumAttestation, policy.requiresDeviceBoundPasskeys) = (level, true)
    return policy
  }

  /// The facts that can be proven of a key that is bound on these devices (R42 to R44).
  private static let proofs: [PlatformFamily: [ProvenKeys]] = [
    .iOS: [ProvenKeys(), ProvenKeys(all: .app)], .macOS: [ProvenKeys(), ProvenKeys(all: .app)], .web: [ProvenKeys()],
    .android: [
      ProvenKeys(), ProvenKeys(all: .tee), ProvenKeys(all: .tee, areOfListedApp: true), ProvenKeys(all: .strongbox),
      ProvenKeys(all: .strongbox, areOfListedApp: true),
    ],
  ]

  private static let probes: [DevicePosture] = {
    var probes: [DevicePosture] = []
    let guess = Array("a guess".utf8)
    for platform in [Platform.iOS, .macOS, .android, .web] {
      let majors = platform.family.hasDomainState ? 8...28 : 14...14 as ClosedRange<UInt32>
      probes += majors.map { posture(platform, $0, domainState: guess) }
      let silent = posture(platform, 18, domainState: [])
      var locked = silent
      locked.isBiometryLockedOut = true
      probes += [silent, locked]
    }
    return probes
  }()

  private static func posture(_ platform: Platform, _ major: UInt32, domainState: [UInt8]) -> DevicePosture {
    DevicePosture(
      platform: platform, osVersion: OSVersion(major), biometryType: .touchID, isBiometryAvailable: true,
      isBiometryEnrolled: true, isBiometryLockedOut: false, isPasscodeSet: true, domainState: domainState)
  }

  /// The answers about them that a stranger gets by one probe.
  private func answers(
    _ accounts: Set<Account>, to probe: DevicePosture, under policy: EvaluationPolicy
  ) -> Set<Preflight> {
    Set(
      accounts.map { account in
        policy.preflight(
          posture: probe, binding: account.binding, device: BiometryStanding(), profile: account.profile, now: Self.now)
      })
  }

  // MARK: Accounts

  private func unknown(seed: UInt64, servesPasskeys: Bool = false) throws -> Set<Account> {
    var generator = SeededGenerator(seed: seed)
    let pepper = try Pepper(bytes: (0..<Pepper.byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) })
    let standIns = StandIns(pepper: pepper)
    return Set(
      (0..<Self.unknownCount).map { number in
        let id = "unknown \(seed) \(number)"
        let record = ProfileRecord(applicationID: "bank", profileID: ProfileRecord.standInID(forUnknownBinding: id))
        return Account(
          standIns.standing(ofUnknownBinding: id, in: "bank", servesPasskeys: servesPasskeys),
          standIns.standing(of: record, hasSecret: false))
      })
  }

  /// All that can be bound, as CompleteBinding does it, with secrets and settings as SecretService sets them.
  private func known(servesPasskeys: Bool) -> Set<Account> {
    let (bindings, profiles) = (bindings() + (servesPasskeys ? Self.passkeys : []), profiles())
    return Set(bindings.flatMap { binding in profiles.map { Account(binding, $0) } })
  }

  private static let passkeys = [ProofLevel.none, .selfAttested, .tee, .strongbox].flatMap { level in
    [true, false].map { isDeviceBound in
      var passkey = BindingStanding(isActive: true, keyProtections: [], holdsProfileTouchID: false, baseline: nil)
      (passkey.holdsPasskey, passkey.passkeyLevel) = (true, level)
      passkey.isPasskeyDeviceBound = isDeviceBound
      return passkey
    }
  }

  private func bindings() -> [BindingStanding] {
    let biometry: [KeyProtection?] = [nil, .biometryCurrentSet, .biometryAny]
    let deviceOwner: [KeyProtection?] = [nil, .userPresence, .devicePasscode]
    var bindings: [BindingStanding] = []
    for (platform, releases) in Self.releases {
      for major in releases {
        let posture = Self.posture(
          platform, major, domainState: platform.family.hasDomainState ? Array("the enrolled fingers".utf8) : [])
        #expect(EnrolmentPolicy().preflight(posture: posture) == nil)
        for (first, second) in biometry.flatMap({ first in deviceOwner.map { (first, $0) } }) {
          var keys: KeyProtections = []
          for protection in [first, second].compactMap(\.self) { keys.insert(protection) }
          for proof in keys.isEmpty ? [ProvenKeys()] : Self.proofs[platform.family]! {
            bindings.append(
              BindingStanding(
                isActive: true, keyProtections: keys, holdsProfileTouchID: keys.isEmpty,
                baseline: .recorded(from: posture), platformFamily: platform.family,
                provenKeys: proof))
          }
        }
      }
    }
    return bindings
  }

  private func profiles() -> [ProfileStanding] {
    var profiles: [ProfileStanding] = []
    for secrets in [[], [.passcode], [.gesture], [.passcode, Factor.gesture]] {
      var profile = ProfileStanding.none
      for secret in secrets { profile = profile.settingSecret(secret, at: Self.now) }
      for preferred in [nil] + secrets.map(Optional.some) {
        // No person disables every way in.
        for isBiometryEnabled in secrets.isEmpty ? [true] : [true, false] {
          var settings = profile.settings
          (settings.isBiometryEnabled, settings.preferred) = (isBiometryEnabled, preferred)
          #expect(settings.violation() == nil)
          profiles.append(profile.changing(settings, at: Self.now))
        }
      }
    }
    return profiles
  }

  // MARK: None stands out

  @Test(arguments: [false, true]) func noAnswerIsForUnknownOnesAlone(servesPasskeys: Bool) throws {
    let known = known(servesPasskeys: servesPasskeys)
    let unknown = try Self.seeds.reduce(into: Set<Account>()) {
      $0.formUnion(try self.unknown(seed: $1, servesPasskeys: servesPasskeys))
    }
    #expect(unknown.contains { $0.binding.holdsPasskey } == servesPasskeys)
    for probe in Self.probes {
      for policy in servesPasskeys ? Self.policies : Self.policies.map(\.withoutPasskeys) {
        let alone = answers(unknown, to: probe, under: policy).subtracting(answers(known, to: probe, under: policy))
        #expect(alone.isEmpty, "\(policy.name), \(probe.platform) \(probe.osVersion.text): \(alone)")
      }
    }
  }

  /// All probes together show the whole standing of a stand-in: a person can have bound the same.
  @Test(arguments: seeds) func eachUnknownOneHasAPossibleTwin(_ seed: UInt64) throws {
    for account in try unknown(seed: seed) {
      let family = try #require(account.binding.platformFamily)
      let baseline = account.binding.baseline
      #expect((baseline != nil) == family.hasDomainState)
      let majors = Self.releases.filter { $0.key.family == family }.flatMap(\.value)
      if let baseline { #expect(majors.contains(baseline.osMajorVersion), "\(family) \(baseline.osMajorVersion)") }
      #expect(account.binding.keyProtections.isEmpty == account.binding.holdsProfileTouchID)
      let proofs = account.binding.keyProtections.isEmpty ? [ProvenKeys()] : Self.proofs[family]!
      #expect(proofs.contains(account.binding.provenKeys))

      let settings = account.profile.settings
      #expect(settings.violation() == nil)
      #expect(settings.isBiometryEnabled || account.profile.hasUsableSecret)
    }
  }

  /// An id that is known in one application is unknown in the others. If only that one were answered differently there,
  /// the difference would show it.
  @Test func anUnknownOneIsAnotherInEachApplication() throws {
    let standIns = StandIns(pepper: try Pepper(bytes: (0..<Pepper.byteCount).map { UInt8($0) }))
    let ids = (0..<200).map { "unknown \($0)" }
    let different = ids.count { id in
      standIns.standing(ofUnknownBinding: id, in: "bank") != standIns.standing(ofUnknownBinding: id, in: "game")
    }
    #expect(different > 100)
  }

  // MARK: None is rare

  @Test func theNewestSystemsAreTheUsualOnes() {
    var generator = SeededGenerator(seed: 7)
    for releases in [OSReleases.iOS, .macOS] {
      let drawn = (0..<10_000).map { _ in releases.major(by: UInt32.random(in: 0 ... .max, using: &generator)) }
      #expect(Set(drawn).isSubset(of: releases.majors))
      #expect((4_500...5_500).contains(drawn.count { $0 == releases.majors.last }))
      #expect(drawn.count { releases.majors.suffix(3).contains($0) } > 8_000)
    }
    #expect(OSReleases.iOS.majors == Self.releases[.iOS] && OSReleases.macOS.majors == Self.releases[.macOS])
  }

  /// A phone is updated, and its new domain state accepted. A caller who probed before sees no device that goes back.
  @Test func anotherReleaseMovesSomeToItAndNoneElsewhere() {
    var generator = SeededGenerator(seed: 8)
    let next = OSReleases(majors: OSReleases.iOS.majors + [27])
    var movedCount = 0
    for _ in 0..<1_000 {
      let chance = UInt32.random(in: 0 ... .max, using: &generator)
      let (before, after) = (OSReleases.iOS.major(by: chance), next.major(by: chance))
      #expect(after == before || after == 27)
      if after != before { movedCount += 1 }
    }
    #expect((400...600).contains(movedCount))
  }
}
