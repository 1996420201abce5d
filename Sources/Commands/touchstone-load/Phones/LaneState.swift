// Shared by the calls of one lane: phones that one call uses at a time, the latest login's token, the service's keys.

internal import LoadScenarios
internal import MonotonicClock
internal import TouchstoneClient

/// A phone of flows that fail, lock or change it.
// Guard: everything belongs to the thread of the lane that has it.
final class ExclusivePhone: @unchecked Sendable {
  let phone: LoadPhone
  var hasOtherFace = false
  /// True if it is not known in which state an earlier run left the phone.
  var needsRecovery: Bool

  init(_ phone: LoadPhone, isNew: Bool) {
    self.phone = phone
    needsRecovery = !isNew
  }
}

/// A token that was issued for a login, to be introspected.
struct KnownLogin: Sendable {
  var token: String
  var bindingID: String
  /// Seconds since 1970.
  var expiresAt: Int64
}

// Guard: everything belongs to the lane's thread, on which its calls run; `counts` hops onto it.
final class LaneState: @unchecked Sendable {
  var tokens = TokenCheck()
  /// Requests that were answered.
  var answers = 0
  var latestLogin: KnownLogin?
  /// A phone's request is always the same, so it is encoded once. By binding.
  private(set) var preflights: [String: [UInt8]] = [:]
  /// Seeded phones may be millions, of some 200 bytes each.
  private static let maximumPreflights = 10_000
  private let run: UInt64
  private let number: Int
  private var names = 0

  private var free: ArraySlice<ExclusivePhone>
  private var waiting: ArraySlice<CheckedContinuation<ExclusivePhone, Never>> = []
  private var counts = Counts()

  /// `nil`: this caller may not read them.
  private var keys: PublishedKeys?
  private var keysReadAt = MonotonicTime.now()

  struct Counts: Sendable {
    var signaturesVerified = 0
    var callsWithoutPhone = 0

    mutating func add(_ other: Counts) {
      signaturesVerified += other.signaturesVerified
      callsWithoutPhone += other.callsWithoutPhone
    }
  }

  /// In seconds: a token with less left is not introspected.
  private static let leastLife: Int64 = 30
  /// As often as docs/TOKENS.md lets verifiers read the keys.
  private static let keysInterval = Duration.seconds(60)

  init(run: UInt64, number: Int, phones: [ExclusivePhone], keys: PublishedKeys?) {
    (self.run, self.number, self.keys) = (run, number, keys)
    free = phones[...]
  }

  /// Call it from outside the lane, after the lane's last call was made.
  func counts(on lane: LoadLane) async -> Counts {
    await Task(executorPreference: lane) { [self] in counts }.value
  }

  /// A profile id that no other lane or run uses.
  func newName() -> String {
    names += 1
    return "load-\(run)-\(number)-\(names)"
  }

  func keep(preflight request: [UInt8], of bindingID: String) {
    if preflights.count < Self.maximumPreflights { preflights[bindingID] = request }
  }

  // MARK: Phones

  /// Waits until one is free.
  func takePhone() async -> ExclusivePhone {
    if let phone = free.popFirst() { return phone }
    counts.callsWithoutPhone += 1
    return await withCheckedContinuation { waiting.append($0) }
  }

  func giveBack(_ phone: ExclusivePhone) {
    if let next = waiting.popFirst() { next.resume(returning: phone) } else { free.append(phone) }
  }

  // MARK: Tokens

  /// A login whose token lives for longer than a call usually takes.
  func login(at now: Int64) -> KnownLogin? {
    latestLogin.flatMap { $0.expiresAt > now + Self.leastLife ? $0 : nil }
  }

  func signatureFault(_ parts: TokenCheck.Parts, _ client: TouchstoneClient) async throws(TouchstoneError) -> String? {
    guard let known = keys else { return nil }
    var isValid = known.isValid(parts)
    if isValid == nil, MonotonicTime.now() - keysReadAt > Self.keysInterval {
      // The service may have rotated its keys.
      keysReadAt = MonotonicTime.now()
      keys = PublishedKeys(jwkSet: try await client.getSigningKeys(V1.GetSigningKeysRequest()).jwkSet) ?? known
      isValid = keys?.isValid(parts)
    }
    guard let isValid else { return "the token's key is not published" }
    counts.signaturesVerified += 1
    return isValid ? nil : "the token's signature"
  }
}
