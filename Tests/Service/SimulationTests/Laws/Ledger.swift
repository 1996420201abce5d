// The truth: the signatures of each key, the evaluations of each subject, and everything that was handed out. The
// services have no access to it.

import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

final class Ledger {
  let proofs = ProofLedger()
  /// By their sealed bytes.
  private var evaluations: [[UInt8]: OpenedEvaluation] = [:]
  private var expiries: [UnixTime: Int] = [:]
  private(set) var tickets: [[UInt8]: HandedTicket] = [:]
  private var tokens: [[UInt8]: IssuedToken] = [:]
  private var signatures: [[UInt8]: Signature] = [:]
  private var challenges: Set<[UInt8]> = []
  private var names: Set<[UInt8]> = []
  private var tokenIDs: Set<String> = []
  /// The step at which an answer reported that a binding is revoked, or a profile erased.
  private var endings: [[UInt8]: Int] = [:]
  private var beginnings: [[UInt8]: Int] = [:]
  private var secrets: [[UInt8]: HashedSecret] = [:]
  private var bindings: [[UInt8]: BoundDevice] = [:]
  private var lockSteps: [[UInt8]: Int] = [:]

  /// A key's signature, with its person's consent.
  struct Signature {
    var publicKey: [UInt8]
    var message: [UInt8]
  }

  /// The parts of a binding that never change.
  struct BoundDevice {
    var applicationID: String
    var profileID: String
    var deviceID: String
    /// When it was committed.
    var step: Int
    /// Locks that began from then on are ended by binding anew (R12).
    var ownerStep: Int
  }

  // MARK: Names

  func note(name: String) { names.insert(Array(name.utf8)) }

  func isKnown(name: String) -> Bool { names.contains(Array(name.utf8)) }

  func note(_ binding: BindingRecord, at step: Int, replacing own: BindingRecord?) {
    note(name: binding.bindingID)
    // A passkey's is its credential's, which no phone has.
    if case .passkey = binding.credential { note(name: binding.deviceID) }
    let name = Array(binding.bindingID.utf8)
    guard bindings[name] == nil else { return }
    bindings[name] = BoundDevice(
      applicationID: binding.applicationID, profileID: binding.profileID, deviceID: binding.deviceID, step: step,
      ownerStep: own.flatMap { self.binding($0.bindingID)?.ownerStep } ?? step)
  }

  /// Its biometrics are locked from now on.
  func note(lockOf deviceID: String, at step: Int) { lockSteps[Array(deviceID.utf8)] = step }

  /// When the latest lock began.
  func lockStep(of deviceID: String) -> Int? { lockSteps[Array(deviceID.utf8)] }

  /// Whether it is there or was erased.
  func binding(_ id: String) -> BoundDevice? { bindings[Array(id.utf8)] }

  // MARK: Proofs

  /// - Parameter publicKey: on P-256, of RSA, or of ML-DSA-65.
  func note(signature: [UInt8], by publicKey: [UInt8], over message: [UInt8]) {
    signatures[signature] = Signature(publicKey: publicKey, message: message)
  }

  /// Over this very message, by a key, and by its other half if it is hybrid; by nothing else beside it (R48).
  func isSigned(
    _ message: [UInt8], _ signature: [UInt8], _ otherHalf: [UInt8], by publicKey: [UInt8], and otherKey: [UInt8]
  ) -> Bool {
    guard let one = signatures[signature], one.publicKey == publicKey, one.message == message else { return false }
    guard !otherKey.isEmpty else { return otherHalf.isEmpty }
    guard let other = signatures[otherHalf] else { return false }
    return other.publicKey == otherKey && other.message == message
  }

  /// A verifier that nothing but the ledger can read.
  func newVerifier(of secret: [UInt8], context: [UInt8]) -> [UInt8] {
    let verifier = withUnsafeBytes(of: UInt64(secrets.count).bigEndian, Array.init)
    secrets[verifier] = HashedSecret(bytes: secret, context: context)
    return verifier
  }

  func secret(of verifier: [UInt8]) -> HashedSecret? { secrets[Array(verifier.dropFirst())] }

  // MARK: Handed out

  func note(_ evaluation: OpenedEvaluation, sealed: [UInt8]) {
    evaluations[sealed] = evaluation
    expiries[evaluation.expiresAt, default: 0] += 1
  }

  /// No other one expires at the same instant.
  func isAlone(_ evaluation: OpenedEvaluation) -> Bool { expiries[evaluation.expiresAt] == 1 }

  /// `nil`: no such evaluation of this application, whatever the bytes are.
  func evaluation(_ sealed: [UInt8], of applicationID: String) -> OpenedEvaluation? {
    guard let opened = evaluations[sealed], Identifier.areEqual(opened.applicationID, applicationID) else { return nil }
    return opened
  }

  func note(_ ticket: HandedTicket, sealed: [UInt8]) { tickets[sealed] = ticket }

  func note(_ token: IssuedToken) {
    tokens[Array(token.text.utf8)] = token
    tokenIDs.insert(token.tokenID)
  }

  func token(_ text: String) -> IssuedToken? { tokens[Array(text.utf8)] }
  func isTokenID(_ id: String) -> Bool { tokenIDs.contains(id) }

  /// False where it was seen before.
  func isNew(challenge: [UInt8]) -> Bool { challenges.insert(challenge).inserted }

  // MARK: Beginnings

  func noteBeginning(_ applicationID: String, _ profileID: String, at step: Int) {
    beginnings[Self.name(applicationID, profileID)] = step
  }

  /// When the profile's record was made, the last time; `nil`: never.
  func beginningStep(_ applicationID: String, _ profileID: String) -> Int? {
    beginnings[Self.name(applicationID, profileID)]
  }

  // MARK: Endings

  func noteRevoked(bindingID: String, at step: Int) { noteEnding(of: Array(bindingID.utf8), at: step) }

  func noteErased(_ applicationID: String, _ profileID: String, at step: Int) {
    endings[Self.name(applicationID, profileID)] = step
  }

  /// The step at which an answer reported it; `nil`: none did.
  func revokedStep(ofBinding bindingID: String) -> Int? { endings[Array(bindingID.utf8)] }

  /// The last time.
  func erasedStep(_ applicationID: String, _ profileID: String) -> Int? { endings[Self.name(applicationID, profileID)] }

  private func noteEnding(of name: [UInt8], at step: Int) { endings[name] = endings[name] ?? step }

  /// No identifier holds a NUL.
  private static func name(_ applicationID: String, _ profileID: String) -> [UInt8] {
    Array(applicationID.utf8) + [0] + Array(profileID.utf8)
  }
}

/// The secret of which a verifier was made.
struct HashedSecret: Hashable {
  var bytes: [UInt8]
  /// Whose it is, in the service's own words.
  var context: [UInt8]
}

/// An evaluation, as it was opened.
final class OpenedEvaluation {
  let number: Int
  let applicationID: String
  /// At most one of the two is not empty.
  let bindingID: String
  let profileID: String
  let policy: EvaluationPolicy
  let transaction: V1.Transaction?
  let signingInput: [UInt8]
  let expiresAt: UnixTime
  var successCount = 0
  /// The step at which an answer reported that it is over; `nil`: none did.
  private(set) var finishedStep: Int?

  init(
    number: Int, applicationID: String, bindingID: String, profileID: String, policy: EvaluationPolicy,
    transaction: V1.Transaction?, signingInput: [UInt8], expiresAt: UnixTime
  ) {
    self.number = number
    self.applicationID = applicationID
    self.bindingID = bindingID
    self.profileID = profileID
    self.policy = policy
    self.transaction = transaction
    self.signingInput = signingInput
    self.expiresAt = expiresAt
  }

  func finish(at step: Int) { finishedStep = finishedStep ?? step }

  /// Neither expired at any time since the step, nor of a future that a clock was set back from.
  func isInTime(_ time: SimulatedTime, since step: Int) -> Bool {
    time.latest(since: step) < expiresAt
      && expiresAt <= time.earliest(since: step) + policy.evaluationLifetime + Expiry.issueTolerance
  }
}

/// A ticket, as it was handed out.
final class HandedTicket {
  let applicationID: String
  let profileID: String
  /// Empty: for a passkey.
  let deviceID: String
  let signingInput: [UInt8]
  let expiresAt: UnixTime
  var useCount = 0

  init(applicationID: String, profileID: String, deviceID: String, signingInput: [UInt8], expiresAt: UnixTime) {
    self.applicationID = applicationID
    self.profileID = profileID
    self.deviceID = deviceID
    self.signingInput = signingInput
    self.expiresAt = expiresAt
  }
}

/// A token, as a success yielded it.
final class IssuedToken {
  let text: String
  let tokenID: String
  let applicationID: String
  let profileID: String
  /// Empty: of a profile alone.
  let bindingID: String
  let transaction: V1.Transaction?
  let isSingleUse: Bool
  /// Biometrics proved it, or may have.
  let isByBiometrics: Bool
  let expiresAt: UnixTime
  let issuedStep: Int
  var consumptionCount = 0
  /// The step at which an answer reported that it is revoked; `nil`: none did.
  var revokedStep: Int?

  init(
    text: String, tokenID: String, applicationID: String, profileID: String, bindingID: String,
    transaction: V1.Transaction?, isSingleUse: Bool, isByBiometrics: Bool, expiresAt: UnixTime, issuedStep: Int
  ) {
    self.text = text
    self.tokenID = tokenID
    self.applicationID = applicationID
    self.profileID = profileID
    self.bindingID = bindingID
    self.transaction = transaction
    self.isSingleUse = isSingleUse
    self.isByBiometrics = isByBiometrics
    self.expiresAt = expiresAt
    self.issuedStep = issuedStep
  }
}
