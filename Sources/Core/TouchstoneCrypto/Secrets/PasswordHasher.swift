/// Makes and checks the stored form of passcodes and gestures: with Argon2id, salted and peppered (R16), in a service,
/// and without cost in a simulation.
public protocol SecretHasher: Sendable {
  /// The verifier of a secret that is set.
  ///
  /// - Parameter context: identifies the owner of the secret; a check needs the same bytes.
  func verifier(of secret: SecretBytes, context: [UInt8]) throws(CryptoError) -> [UInt8]
  func isRight(_ secret: SecretBytes, for verifier: [UInt8], context: [UInt8]) throws(CryptoError) -> Bool
  /// The cost of a guess was raised since: make the verifier again at the next right secret.
  func needsRehash(_ verifier: [UInt8]) throws(CryptoError) -> Bool
  /// A verifier for a profile that has none (R37): a check against it takes as long as against a real one, and no
  /// secret is right.
  var standInVerifier: [UInt8] { get }
}

/// Argon2id. Takes tens of milliseconds and megabytes by design, so never on an event loop.
///
/// A verifier is 58 bytes, integers big-endian:
///
///     version 1 (1 byte) ‖ memory in KiB (4) ‖ passes (4) ‖ lanes (1) ‖ salt (16) ‖ tag (32)
///
/// The pepper is Argon2's secret input K, so a stolen database alone tests no guess. The context is its associated data
/// X, so a verifier that was copied into another account's row is worthless there.
public struct PasswordHasher: SecretHasher {
  /// The cost of a guess.
  public struct Parameters: Sendable, Hashable {
    public let memoryKibibytes: UInt32
    public let passes: UInt32
    public let lanes: UInt32

    /// R16's default: 19 MiB, two passes, one lane.
    public static let standard = Parameters(unchecked: 19 * 1_024, passes: 2, lanes: 1)

    /// A verifier with more was damaged, and must not make the service allocate terabytes.
    public static let memoryRange: ClosedRange<UInt32> = 8...1 << 20
    public static let passRange: ClosedRange<UInt32> = 1...64
    public static let laneRange: ClosedRange<UInt32> = 1...16

    /// `nil` outside of the ranges, or with less than 8 KiB a lane (RFC 9106 section 3.1).
    public init?(memoryKibibytes: UInt32, passes: UInt32, lanes: UInt32) {
      guard
        Self.memoryRange.contains(memoryKibibytes), Self.passRange.contains(passes), Self.laneRange.contains(lanes),
        memoryKibibytes >= 8 * lanes
      else { return nil }
      self.init(unchecked: memoryKibibytes, passes: passes, lanes: lanes)
    }

    private init(unchecked memoryKibibytes: UInt32, passes: UInt32, lanes: UInt32) {
      self.memoryKibibytes = memoryKibibytes
      self.passes = passes
      self.lanes = lanes
    }
  }

  public let parameters: Parameters

  private let key: Secret<[UInt8]>
  private let randomness: Randomness

  public init(pepper: Pepper, parameters: Parameters = .standard, randomness: Randomness = .system) {
    self.parameters = parameters
    self.randomness = randomness
    key = Secret(pepper.digest(of: [], purpose: "argon2id secret input"))
  }

  public func verifier(of password: SecretBytes, context: [UInt8]) throws(CryptoError) -> [UInt8] {
    let salt = randomness.bytes(Self.saltByteCount)
    let tag = try tag(of: password, salt: salt, context: context, parameters)
    return Self.encode(parameters, salt: salt, tag: tag)
  }

  /// Throws `.invalidVerifier` for bytes that `verifier(of:context:)` never made.
  public func isRight(
    _ password: SecretBytes, for verifier: [UInt8], context: [UInt8]
  ) throws(CryptoError) -> Bool {
    let expected = try Self.decode(verifier)
    let tag = try tag(of: password, salt: expected.salt, context: context, expected.parameters)
    return tag.withUnsafeBytes { tag in expected.tag.withUnsafeBytes { areEqualInConstantTime(tag, $0) } }
  }

  public func needsRehash(_ verifier: [UInt8]) throws(CryptoError) -> Bool {
    let stored = try Self.decode(verifier).parameters
    return stored.memoryKibibytes < parameters.memoryKibibytes || stored.passes < parameters.passes
      || stored.lanes < parameters.lanes
  }

  /// Only a password whose tag is all zeros would be right, which is one in 2^256.
  public var standInVerifier: [UInt8] {
    Self.encode(
      parameters, salt: [UInt8](repeating: 0, count: Self.saltByteCount),
      tag: [UInt8](repeating: 0, count: Self.tagByteCount))
  }

  private func tag(
    of password: SecretBytes, salt: [UInt8], context: [UInt8], _ parameters: Parameters
  ) throws(CryptoError) -> [UInt8] {
    let inputs = Argon2id.Inputs(
      salt: salt, key: key.value, associatedData: context, parameters: parameters, tagByteCount: Self.tagByteCount)
    let result = password.withBytes { bytes -> Result<[UInt8], CryptoError> in
      do throws(CryptoError) { return .success(try Argon2id.tag(of: bytes, inputs)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  // MARK: Verifiers' bytes

  static let saltByteCount = 16
  static let tagByteCount = 32
  private static let version: UInt8 = 1
  private static let headerByteCount = 10
  static let verifierByteCount = headerByteCount + saltByteCount + tagByteCount

  private static func encode(_ parameters: Parameters, salt: [UInt8], tag: [UInt8]) -> [UInt8] {
    var bytes = [version]
    bytes.reserveCapacity(verifierByteCount)
    withUnsafeBytes(of: parameters.memoryKibibytes.bigEndian) { bytes += $0 }
    withUnsafeBytes(of: parameters.passes.bigEndian) { bytes += $0 }
    bytes.append(UInt8(parameters.lanes))
    return bytes + salt + tag
  }

  private static func decode(
    _ verifier: [UInt8]
  ) throws(CryptoError) -> (parameters: Parameters, salt: [UInt8], tag: [UInt8]) {
    func integer(_ range: Range<Int>) -> UInt32 { verifier[range].reduce(0) { $0 << 8 | UInt32($1) } }
    guard verifier.count == verifierByteCount, verifier[0] == version,
      let parameters = Parameters(
        memoryKibibytes: integer(1..<5), passes: integer(5..<9), lanes: UInt32(verifier[9]))
    else {
      throw CryptoError(code: .invalidVerifier, message: "verifier: \(verifier.count) bytes are not a verifier")
    }
    return (
      parameters, Array(verifier[headerByteCount..<headerByteCount + saltByteCount]),
      Array(verifier[(headerByteCount + saltByteCount)...])
    )
  }
}
