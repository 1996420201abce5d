// Translates requests into the values that the rules take. It names every wrong field by its path.

internal import TouchstoneAttestation
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// Collects violations while it translates; `finish` refuses the request if there were any.
///
/// Each function returns a value that may be used only if `finish` does not throw. A field's path is built only for a
/// violation: building all of them took a fifth of a CanEvaluatePolicy call.
struct RequestValidator {
  typealias FieldPath = () -> String

  private(set) var violations: [FieldViolation] = []
  /// The beginning of every field's path: the enclosing message and a point.
  private let prefix: String
  /// The person's message for the first violation that the person can correct.
  private var refusal: CallRefusal?

  /// More violations would not fit into an answer's trailers.
  private static let maximumViolations = 16
  /// DER of two 32-byte integers is at most 72 bytes; r‖s is 64.
  static let p256SignatureBytes = 8...72
  /// The bounds for an attempt, before it is known which kind of key the binding has.
  static let signatureBytes = 8...RSAPublicKey.maximumSignatureByteCount

  /// - Parameter violations: earlier ones, with their whole paths.
  init(prefix: String = "", after violations: [FieldViolation] = []) {
    self.prefix = prefix
    self.violations = violations
  }

  /// For a request about one profile.
  init(_ applicationID: String, profileID: String) {
    self.init()
    application(applicationID)
    identifier(profileID, "profile_id")
  }

  mutating func refuse(_ field: String, _ reason: String) {
    guard violations.count < Self.maximumViolations else { return }
    violations.append(FieldViolation(field: prefix + field, reason: reason))
  }

  /// - Parameter refusal: the person's message, because the value is the person's own input.
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
    if let reason = ApplicationID.violation(in: id) { refuse("application_id", reason) }
  }

  mutating func optionalIdentifier(_ text: String, _ field: @autoclosure FieldPath) {
    if !text.isEmpty { identifier(text, field()) }
  }

  /// Validates the id of a device that is to be bound. Existing bindings keep ids that this refuses.
  mutating func deviceID(_ text: String, of profileID: String, _ field: @autoclosure FieldPath) {
    if let reason = Identifier.violation(in: text) { return refuse(field(), reason) }
    if text.utf8.starts(with: PasskeyRecord.deviceIDPrefix.utf8) {
      return refuse(field(), "begins with \(PasskeyRecord.deviceIDPrefix), as only the service's own ids do")
    }
    if let reason = DeviceID.violation(in: text, profileID: profileID) {
      refuse(field(), "\(reason); send a random UUID that the app makes at its first start and keeps")
    }
  }

  mutating func text(_ text: String, _ field: @autoclosure FieldPath, bytes: ClosedRange<Int>) {
    if !bytes.contains(text.utf8.count) {
      refuse(field(), "must be \(bytes.lowerBound) to \(bytes.upperBound) bytes, is \(text.utf8.count)")
    }
  }

  /// A text that a person reads. Line feeds are allowed in prompts alone.
  mutating func visibleText(
    _ text: String, _ field: @autoclosure FieldPath, bytes: ClosedRange<Int>, hasLines: Bool = false
  ) {
    if let reason = VisibleText.violation(in: text, bytes: bytes, hasLines: hasLines) { refuse(field(), reason) }
  }

  /// The size of a reason in the audit log (types.proto), which says why an operator ended, unlocked, changed or erased
  /// something.
  static let reasonBytes = 1...256

  /// The log keeps it for good, and shows it in one line.
  ///
  /// - Parameter isOptional: the person may have made the change, in an app.
  mutating func reason(_ text: String, isOptional: Bool = false) {
    if isOptional, text.isEmpty { return }
    visibleText(text, "reason", bytes: Self.reasonBytes)
  }

  mutating func opaque(_ bytes: [UInt8], _ field: @autoclosure FieldPath, count: ClosedRange<Int>) {
    if !count.contains(bytes.count) {
      refuse(field(), "must be \(count.lowerBound) to \(count.upperBound) bytes, is \(bytes.count)")
    }
  }

  /// A text is taken only if the application's configuration says so.
  mutating func signatureForm(
    _ form: V1.SignatureForm, _ field: @autoclosure FieldPath, of applicationID: String, by service: TouchstoneService
  ) -> SignatureForm {
    switch form {
    case .unspecified, .raw: return .raw
    case .base64URLText:
      if !service.keyProofs.requirements(of: applicationID).allowsTextSignatures {
        refuse(field(), "must be RAW: the application's configuration does not set text_signatures to true")
      }
      return .base64URLText
    default:
      refuse(field(), "is unknown: \(form.rawValue)")
      return .raw
    }
  }

  // MARK: Posture

  /// The limit in types.proto. `evaluatedPolicyDomainState` is a hash on every known OS.
  static let maximumDomainStateBytes = 256
  static let maximumModelBytes = 64
  /// A browser's version has some 20 bytes, and an Android build may add its name.
  static let maximumVersionBytes = 64

  /// - Parameter isOptional: a passkey may come without one.
  mutating func posture(
    _ message: V1.DevicePosture?, _ field: String = "posture", isOptional: Bool = false
  ) -> DevicePosture {
    guard let message else {
      if isOptional { return .ofPasskeyClient }
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
    if let version = osVersion(message.osVersion, "\(field).os_version", on: posture.platform) {
      posture.osVersion = version
    }
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

  /// Returns `nil` if it refuses the version. A missing version is the developer's fault, so the person gets no message
  /// (R2). No rule compares versions of Android and browsers, whose makers also give names: a version without a number
  /// is 0 there.
  mutating func osVersion(
    _ text: String, _ field: @autoclosure FieldPath, on platform: Platform
  ) -> OSVersion? {
    guard !text.isEmpty else {
      refuse(field(), "is required, such as 17.5.1")
      return nil
    }
    if let reason = Identifier.violation(in: text, maximumBytes: Self.maximumVersionBytes) {
      refuse(field(), reason)
      return nil
    }
    if let version = OSVersion(leadingNumbersOf: text) { return version }
    if platform == .android || platform == .web { return OSVersion(0) }
    refuse(field(), "must begin with one to three numbers with points, such as 17.5.1")
    return nil
  }

  private mutating func biometryType(_ type: V1.BiometryType, _ field: @autoclosure FieldPath) -> BiometryType {
    guard let raw = UInt8(exactly: type.rawValue), let known = BiometryType(rawValue: raw) else {
      refuse(field(), "\(type.rawValue) is not a biometry type")
      return .unspecified
    }
    return known
  }

  // MARK: Transaction

  /// Returns `nil` if the policy takes no transaction and none was given.
  ///
  /// - Parameter policy: `nil`: the named policy does not exist, so it is unknown whether it takes a transaction.
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

  /// Reads a passcode that is tried. An impossible length (R16) is a bad request, not an attempt (R10). Other rules for
  /// new passcodes are not checked: "1111" is a wrong passcode.
  mutating func passcode(_ proof: V1.PasscodeProof, _ field: @autoclosure FieldPath) -> OfferedSecret {
    guard Passcode.canBeRight(proof.passcode) else {
      let lengths = Passcode.lengths
      refuse("\(field()).passcode", "must be \(lengths.lowerBound) to \(lengths.upperBound) characters")
      return OfferedSecret(kind: .passcode, bytes: SecretBytes([]))
    }
    return OfferedSecret(passcode: proof.passcode)
  }

  /// Reads a gesture that is tried. An impossible shape is a bad request, too.
  mutating func gesture(_ proof: V1.GestureProof, _ field: @autoclosure FieldPath) -> OfferedSecret? {
    if let reason = Gesture.violation(in: proof.points) {
      refuse("\(field()).points", reason)
      return nil
    }
    return OfferedSecret(gesture: proof.points)
  }

  /// Reads the kind of a secret as a factor.
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

  /// Reads a passcode or a gesture that is tried.
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

  /// Reads a passcode or a gesture that is to be set (R16).
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

  /// The size of a word such as "password", "otp" or "idv" (bindings.proto).
  static let methodBytes = 1...32

  /// Returns when the caller logged the person in. A login in the future is a violation; whether it is fresh enough is
  /// for the rules, whenever they decide.
  mutating func authenticationTime(
    _ primary: V1.PrimaryAuthentication?, _ field: String, under enrolment: EnrolmentPolicy, at now: UnixTime
  ) -> UnixTime {
    guard let primary else {
      refuse(field, "is required")
      return UnixTime(microseconds: 0)
    }
    text(primary.method, "\(field).method", bytes: Self.methodBytes)
    let authenticatedAt = time(primary.authenticatedAt, "\(field).authenticated_at")
    if enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: now) == .inFuture {
      refuse("\(field).authenticated_at", "lies in the future")
    }
    return authenticatedAt
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

extension DevicePosture {
  /// The value in place of a refused posture.
  static let empty = DevicePosture(
    platform: .iOS, osVersion: OSVersion(0), biometryType: .unspecified, isBiometryAvailable: false,
    isBiometryEnrolled: false, isBiometryLockedOut: false, isPasscodeSet: false, domainState: [])
}
