// What passcodes and gestures are checked with, for the attempts in evaluations and for the changes of a secret alike.
//
// A check has two phases (R14), both in a turn at the gate (`SecretGate`):
//
//     reserve a place → turn: read, admit, commit the failure → turn ends → verify in the place
//     → turn with the verdict: read, settle, commit → answer → turn ends with a verdict
//
// Whatever goes wrong on the way drops the turn and the place, which frees both. A check that was admitted and has no
// verdict stays counted.

internal import DispatchRPC
internal import Logging
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// The hasher, its threads, and the order of their use.
struct SecretChecks: Sendable {
  let hasher: any SecretHasher
  let executor: any SecretExecutor
  let gate: SecretGate
  private let running = RunningChecks()

  init(hasher: any SecretHasher, executor: any SecretExecutor, gate: SecretGate) {
    self.hasher = hasher
    self.executor = executor
    self.gate = gate
  }

  enum Reservation: Sendable {
    case place(SecretPlace)
    /// This secret has its share, and a verdict will free some of it (R14).
    case wait
  }

  /// Where right ones come in a crowd, each verdict admits as many again. They wait for each other, and leave places to
  /// other people's secrets. Throws RESOURCE_EXHAUSTED where too many others are verified.
  func reserve(for name: SecretName) throws(RequestError) -> Reservation {
    guard running.begin(name) else { return .wait }
    if let place = SecretPlace(at: executor, ended: { [running] in running.end(name) }) { return .place(place) }
    guard running.end(name) == 0 else { return .wait }
    throw .tooManySecretChecks
  }

  /// Throws RESOURCE_EXHAUSTED where too many are verified already. Ask before anything is counted.
  func reserve() throws(RequestError) -> SecretPlace {
    guard let place = SecretPlace(at: executor) else { throw .tooManySecretChecks }
    return place
  }
}

/// How many checks of each secret run.
private final class RunningChecks: Sendable {
  /// More than the standard ladder ever admits without a verdict.
  private static let checksPerSecret = 8

  private let counts = Mutex<[SecretName: Int]>([:])

  /// False where the secret has its share.
  func begin(_ name: SecretName) -> Bool {
    counts.withLock { counts in
      guard counts[name, default: 0] < Self.checksPerSecret else { return false }
      counts[name, default: 0] += 1
      return true
    }
  }

  /// - Returns: how many are left.
  @discardableResult
  func end(_ name: SecretName) -> Int {
    counts.withLock { counts in
      guard let count = counts[name] else { preconditionFailure("a check that ends has begun") }
      counts[name] = count == 1 ? nil : count - 1
      return count - 1
    }
  }
}

/// What a check said.
enum SecretVerdict: Sendable {
  case wrong
  /// `rehashed`: the verifier to store instead, where the parameters were raised (R16).
  case right(rehashed: [UInt8]?)

  var isRight: Bool {
    if case .right = self { true } else { false }
  }
}

extension SecretBytes {
  /// The text as it was sent, in UTF-8: not trimmed, folded or normalised. One keyboard makes the same bytes each time, and
  /// whatever made two texts one would make guessing cheaper.
  convenience init(passcode: String) {
    self.init(passcode.utf8)
  }

  /// The dots in the order drawn, a byte each.
  ///
  /// - Precondition: dots are 0 to 8; `RequestValidator` has seen to it.
  convenience init(gesture points: [UInt32]) {
    self.init(points.map { UInt8($0) })
  }
}

extension RequestError {
  static let tooManySecretChecks = RequestError(
    code: .resourceExhausted, message: "too many passcodes and gestures at once; try again",
    quota: Quota(subject: .server, limit: "as many passcodes and gestures at once as can be verified"))
  static let secretVerdictIsLate = RequestError(
    code: .unavailable, message: "other attempts at this secret have no verdict yet; try again")
}

extension Exchange {
  /// Runs `step` in a turn at the secret, on the call's shard; refuses the call where the gate is full or the wait too
  /// long. Where the caller is gone when its turn comes, nothing runs.
  func takeTurn(at name: SecretName, of gate: SecretGate, _ step: @escaping SecretGate.Step) throws(RequestError) {
    let visitor = SecretGate.Visitor(
      execute: { call.shard.execute($0) },
      step: { turn in if !call.isCancelled { step(turn) } },
      expired: { refuse(.secretVerdictIsLate) })
    guard gate.enter(name, visitor) else { throw .tooManySecretChecks }
  }

  /// The same for a verdict: it is written whoever is gone.
  func takeTurnWithVerdict(at name: SecretName, of gate: SecretGate, _ step: @escaping SecretGate.Step) {
    gate.enterWithVerdict(
      name, SecretGate.Visitor(execute: { call.shard.execute($0) }, step: step, expired: {}))
  }

  /// Checks in the place, and runs `body` with the verdict on the call's shard.
  ///
  /// - Parameter verifier: as stored; `nil` for whoever has none, which takes as long and is always wrong (R37).
  func check(
    _ secret: SecretBytes, of name: SecretName, for verifier: [UInt8]?, in place: SecretPlace, hasher: any SecretHasher,
    then body: @escaping @Sendable (SecretVerdict) throws(RequestError) -> Void
  ) {
    work(in: place, then: body) { () throws(CryptoError) in
      let isRight = try hasher.isRight(secret, for: verifier ?? hasher.standInVerifier, context: name.bytes)
      guard isRight, let verifier else { return .wrong }
      let isOutdated = try hasher.needsRehash(verifier)
      return .right(rehashed: isOutdated ? try hasher.verifier(of: secret, context: name.bytes) : nil)
    }
  }

  /// Makes the verifier of a secret that is to be set.
  func makeVerifier(
    of secret: SecretBytes, _ name: SecretName, in place: SecretPlace, hasher: any SecretHasher,
    then body: @escaping @Sendable ([UInt8]) throws(RequestError) -> Void
  ) {
    work(in: place, then: body) { () throws(CryptoError) in try hasher.verifier(of: secret, context: name.bytes) }
  }

  /// Runs `hash` in the place, and `body` with what it made on the call's shard.
  func work<Value: Sendable>(
    in place: SecretPlace, then body: @escaping @Sendable (Value) throws(RequestError) -> Void,
    _ hash: @escaping @Sendable () throws(CryptoError) -> Value
  ) {
    place.run {
      let result: Result<Value, CryptoError>
      do throws(CryptoError) { result = .success(try hash()) } catch { result = .failure(error) }
      onShard {
        do throws(RequestError) {
          switch result {
          case .success(let value): try body(value)
          case .failure(let error): throw logged(error)
          }
        } catch {
          refuse(error)
        }
      }
    }
  }

  /// Nothing here is the caller's doing.
  func logged(_ error: CryptoError) -> RequestError {
    if let suppressed = context.cryptoFailures.admit(error.code, at: .now()) {
      context.logger.error(
        "a check could not be made",
        metadata: ["rpc": "\(call.path)", "error": "\(error.message)", "suppressed": "\(suppressed)"])
    }
    return switch error.code {
    case .outOfMemory: RequestError(code: .unavailable, message: "there is no memory for the check")
    default: RequestError(code: .dataLoss, message: "stored key material is damaged")
    }
  }
}
