// From what a caller sent to what the rules take. Everything wrong is named, by its field's path.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// Collects violations while it translates; `finish` refuses the request if there were any.
///
/// Each function answers a value that is only good if `finish` does not throw. Fields' paths are only put together
/// where something is wrong with the field: in good requests, that was a fifth of a preflight.
struct RequestValidator {
  typealias FieldPath = () -> String

  private(set) var violations: [FieldViolation] = []
  /// Of every field's path: the message that holds what is validated, and a point.
  private let prefix: String
  /// What the person is told of the first that is theirs to mend.
  private var refusal: CallRefusal?

  /// So many tell a caller that it is wrong altogether; more would not fit into the trailers of an answer.
  private static let maximumViolations = 16
  /// DER of two 32-byte integers is at most 72 bytes; r‖s is 64.
  static let signatureBytes = 8...72

  init(prefix: String = "") {
    self.prefix = prefix
  }

  mutating func refuse(_ field: String, _ reason: String) {
    guard violations.count < Self.maximumViolations else { return }
    violations.append(FieldViolation(field: prefix + field, reason: reason))
  }

  /// - Parameter refusal: what the person is told: it is their own entry.
  mutating func refuse(_ field: String, _ reason: String, telling refusal: CallRefusal) {
    refuse(field, reason)
    self.refusal = self.refusal ?? refusal
  }

  func finish() throws(RequestError) {
    guard !violations.isEmpty else { return }
    var error = RequestError.invalidArgument(violations)
    error.personText = refusal.map { .refusal($0) }
    throw error
  }

  // MARK: Identifiers and text

  mutating func identifier(_ text: String, _ field: @autoclosure FieldPath) {
    if let reason = Identifier.violation(in: text) { refuse(field(), reason) }
  }

  mutating func application(_ id: String) {
    if let reason = Identifier.violation(in: id) ?? TokenUse.violation(inApplicationID: id) {
      refuse("application_id", reason)
    }
  }

  mutating func optionalIdentifier(_ text: String, _ field: @autoclosure FieldPath) {
    if !text.isEmpty { identifier(text, field()) }
  }

  /// Of a device that is to be bound: one that was bound before this was asked of it keeps its id.
  mutating func deviceID(_ text: String, of profileID: String, _ field: @autoclosure FieldPath) {
    if let reason = Identifier.violation(in: text) { return refuse(field(), reason) }
    if let reason = DeviceID.violation(in: text, profileID: profileID) {
      refuse(field(), "\(reason); send a random UUID that the app makes at its first start and keeps")
    }
  }

  mutating func text(_ text: String, _ field: @autoclosure FieldPath, bytes: ClosedRange<Int>) {
    if !bytes.contains(text.utf8.count) {
      refuse(field(), "must be \(bytes.lowerBound) to \(bytes.upperBound) bytes, is \(text.utf8.count)")
    }
  }

  /// For the audit log (types.proto): somebody who reads it wants to know why a person ended or unlocked something.
  static let reasonBytes = 1...256

  mutating func reason(_ text: String) {
    self.text(text, "reason", bytes: Self.reasonBytes)
  }

  mutating func opaque(_ bytes: [UInt8], _ field: @autoclosure FieldPath, count: ClosedRange<Int>) {
    if !count.contains(bytes.count) {
      refuse(field(), "must be \(count.lowerBound) to \(count.upperBound) bytes, is \(bytes.count)")
    }
  }

  // MARK: Posture

  /// `evaluatedPolicyDomainState` is a hash on every OS so far; types.proto allows this much.
  static let maximumDomainStateBytes = 256
  static let maximumModelBytes = 64

  mutating func posture(_ message: V1.DevicePosture?, _ field: String = "posture") -> DevicePosture {
    guard let message else {
      refuse(field, "is required")
      return DevicePosture.empty
    }
    var posture = DevicePosture.empty
    if let platform = Platform(wireName: message.platform) {
      posture.platform = platform
    } else {
      let isMissing = message.platform.isEmpty
      let names = Platform.wireNames.joined(separator: ", ")
      refuse("\(field).platform", "\(isMissing ? "is required" : "is not known"): one of \(names)")
    }
    if let version = osVersion(message.osVersion, "\(field).os_version") { posture.osVersion = version }
    text(message.deviceModel, "\(field).device_model", bytes: 0...Self.maximumModelBytes)
    posture.biometryType = biometryType(message.biometryType, "\(field).biometry_type")
    posture.isBiometryAvailable = message.biometryAvailable
    posture.isBiometryEnrolled = message.biometryEnrolled
    posture.isBiometryLockedOut = message.biometryLockedOut
    posture.isPasscodeSet = message.passcodeSet
    opaque(message.domainState, "\(field).domain_state", count: 0...Self.maximumDomainStateBytes)
    posture.domainState = message.domainState
    return posture
  }

  /// What is missing is the developer's to mend, and nothing is said of it to the person (R2). `nil` where it is refused.
  mutating func osVersion(_ text: String, _ field: @autoclosure FieldPath) -> OSVersion? {
    let version = OSVersion(text)
    if version == nil {
      refuse(field(), "\(text.isEmpty ? "is required:" : "must be") one to three numbers with points, such as 17.5.1")
    }
    return version
  }

  private mutating func biometryType(_ type: V1.BiometryType, _ field: @autoclosure FieldPath) -> BiometryType {
    guard let raw = UInt8(exactly: type.rawValue), let known = BiometryType(rawValue: raw) else {
      refuse(field(), "\(type.rawValue) is not a biometry type")
      return .unspecified
    }
    return known
  }

  // MARK: Transaction

  /// `nil` where the policy takes none and none was given.
  ///
  /// - Parameter policy: `nil`: the one that was named is not there, and whether it takes one is not known.
  mutating func transaction(
    _ message: V1.Transaction?, for policy: EvaluationPolicy?, _ field: String = "transaction"
  ) -> Transaction? {
    if let policy, policy.requiresTransaction != (message != nil) {
      refuse(field, message == nil ? "is required by policy \(policy.name)" : "is not taken by policy \(policy.name)")
      return nil
    }
    return message.map { transaction($0, field) }
  }

  mutating func transaction(_ message: V1.Transaction, _ field: String) -> Transaction {
    let transaction = Transaction(
      amount: message.amount, currency: message.currency, payee: message.payee, reference: message.reference)
    for violation in transaction.violations() { refuse("\(field).\(violation.field)", violation.reason) }
    return transaction
  }

  // MARK: Secrets

  /// A passcode that is tried. One of a length that none can have (R16) is a bad request, and no attempt (R10); beyond
  /// that it is not asked whether it could have been set: "1111" is a wrong passcode.
  mutating func passcode(_ proof: V1.PasscodeProof, _ field: @autoclosure FieldPath) -> OfferedSecret {
    let lengths = Passcode.lengths
    if !lengths.contains(proof.passcode.unicodeScalars.count) {
      refuse("\(field()).passcode", "must be \(lengths.lowerBound) to \(lengths.upperBound) characters")
    }
    return OfferedSecret(kind: .passcode, bytes: SecretBytes(passcode: proof.passcode))
  }

  /// A gesture that is tried: of a shape that none can have, it is a bad request, too.
  mutating func gesture(_ proof: V1.GestureProof, _ field: @autoclosure FieldPath) -> OfferedSecret? {
    if let reason = Gesture.violation(in: proof.points) {
      refuse("\(field()).points", reason)
      return nil
    }
    return OfferedSecret(kind: .gesture, bytes: SecretBytes(gesture: proof.points))
  }

  /// As the rules have it: a factor.
  mutating func secretKind(_ kind: V1.SecretKind, _ field: @autoclosure FieldPath) -> Factor {
    switch kind {
    case .passcode:
      return .passcode
    case .gesture:
      return .gesture
    default:
      refuse(field(), "must be SECRET_KIND_PASSCODE or SECRET_KIND_GESTURE")
      return .passcode
    }
  }

  /// Either, as it is tried.
  mutating func secret(_ message: V1.Secret?, _ field: String) -> OfferedSecret? {
    switch message?.kind {
    case .passcode(let proof):
      return passcode(proof, "\(field).passcode")
    case .gesture(let proof):
      return gesture(proof, "\(field).gesture")
    case nil:
      refuse(field, "is required: a passcode or a gesture")
      return nil
    }
  }

  /// Either, as it is to be set (R16).
  mutating func newSecret(_ message: V1.Secret?, _ field: String) -> OfferedSecret? {
    switch message?.kind {
    case .passcode(let proof):
      if let reason = Passcode.violation(in: proof.passcode) {
        refuse("\(field).passcode.passcode", reason, telling: .passcodeTooSimple)
        return nil
      }
    case .gesture(let proof):
      if let reason = Gesture.violation(in: proof.points) {
        refuse("\(field).gesture.points", reason, telling: .gestureTooSimple)
        return nil
      }
    case nil:
      break
    }
    return secret(message, field)
  }

  // MARK: Primary authentication

  /// A word such as "password", "otp" or "idv" (bindings.proto).
  static let methodBytes = 1...32

  /// Whether the caller's own login is recent enough for a binding; a violation where it lies in the future.
  mutating func primaryVerdict(
    _ primary: V1.PrimaryAuthentication?, _ field: String, under enrolment: EnrolmentPolicy, at now: UnixTime
  ) -> PrimaryVerdict {
    guard let primary else {
      refuse(field, "is required")
      return .tooOld
    }
    text(primary.method, "\(field).method", bytes: Self.methodBytes)
    let count = violations.count
    let authenticatedAt = time(primary.authenticatedAt, "\(field).authenticated_at")
    guard violations.count == count else { return .tooOld }
    let verdict = enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: now)
    if verdict == .inFuture { refuse("\(field).authenticated_at", "lies in the future") }
    return verdict
  }

  // MARK: Time

  mutating func time(_ message: V1.Timestamp?, _ field: String) -> UnixTime {
    guard let message else {
      refuse(field, "is required")
      return UnixTime(microseconds: 0)
    }
    guard let time = UnixTime(message) else {
      refuse(field, "is not a valid timestamp")
      return UnixTime(microseconds: 0)
    }
    return time
  }
}

/// A passcode or a gesture that somebody sent.
struct OfferedSecret: Sendable {
  /// Passcode or gesture.
  var kind: Factor
  var bytes: SecretBytes

  /// Takes as long for equal ones as for others of the same length.
  func isEqual(to other: OfferedSecret) -> Bool {
    kind == other.kind && bytes.isEqual(to: other.bytes)
  }
}

extension DevicePosture {
  /// Stands where a posture was refused.
  static let empty = DevicePosture(
    platform: .iOS, osVersion: OSVersion(0), biometryType: .unspecified, isBiometryAvailable: false,
    isBiometryEnrolled: false, isBiometryLockedOut: false, isPasscodeSet: false, domainState: [])
}
