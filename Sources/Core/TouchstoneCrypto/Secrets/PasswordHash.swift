internal import Encodings

/// The hash of a person's password in a configuration: `$argon2id$v=19$m=65536,t=3,p=1$SALT$TAG`, as argon2's own
/// command and most libraries write it. It has no pepper, because the file is not tied to a service's keys.
public struct PasswordHash: Sendable, CustomStringConvertible, CustomReflectable {
  /// The least cost of a guess: OWASP's weakest recommendation (7 MiB and five passes, or 19 MiB and two).
  static let memoryKibibytes: ClosedRange<UInt32> = 7_168...262_144
  static let passes: ClosedRange<UInt32> = 1...16
  static let lanes: ClosedRange<UInt32> = 1...4
  /// The product of memory and passes: below it, a guess is too cheap.
  static let minimumWork: UInt64 = 7_168 * 5
  private static let saltBytes = 8...64
  private static let tagBytes = 16...64

  /// Four words, or random characters: guesses are slow, and there are five before a lock.
  public static let passwordBytes = 12...128

  /// For new hashes: some 100 ms. Operators sign in seldom, and their passwords open more than one account.
  public static let standard = PasswordHasher.Parameters(memoryKibibytes: 64 << 10, passes: 3, lanes: 1)!

  public let parameters: PasswordHasher.Parameters
  private let salt: [UInt8]
  private let tag: Secret<[UInt8]>

  private init(_ parameters: PasswordHasher.Parameters, salt: [UInt8], tag: [UInt8]) {
    self.parameters = parameters
    self.salt = salt
    self.tag = Secret(tag)
  }

  public static func make(
    of password: SecretBytes, parameters: PasswordHasher.Parameters = standard, randomness: Randomness = .system
  ) throws(CryptoError) -> PasswordHash {
    let salt = randomness.bytes(16)
    return PasswordHash(parameters, salt: salt, tag: try tag(of: password, parameters, salt: salt, count: 32))
  }

  /// Takes as long as a check of a real hash with these parameters, and no password is right.
  public static func standIn(_ parameters: PasswordHasher.Parameters) -> PasswordHash {
    PasswordHash(parameters, salt: [UInt8](repeating: 0, count: 16), tag: [UInt8](repeating: 0, count: 32))
  }

  public func isRight(_ password: SecretBytes) throws(CryptoError) -> Bool {
    let tag = try Self.tag(of: password, parameters, salt: salt, count: tag.value.count)
    return tag.withUnsafeBytes { tag in self.tag.value.withUnsafeBytes { areEqualInConstantTime(tag, $0) } }
  }

  /// A digest that only the same text has. It lets its reader guess at the password, as the text does.
  public var digest: [UInt8] {
    let numbers = [parameters.memoryKibibytes, parameters.passes, parameters.lanes]
    let prefix = numbers.flatMap { withUnsafeBytes(of: $0.bigEndian) { Array($0) } } + [UInt8(salt.count)]
    return sha256(prefix + salt + tag.value)
  }

  private static func tag(
    of password: SecretBytes, _ parameters: PasswordHasher.Parameters, salt: [UInt8], count: Int
  ) throws(CryptoError) -> [UInt8] {
    let inputs = Argon2id.Inputs(salt: salt, parameters: parameters, tagByteCount: count)
    let result = password.withBytes { bytes -> Result<[UInt8], CryptoError> in
      do throws(CryptoError) { return .success(try Argon2id.tag(of: bytes, inputs)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  public var description: String { "(password hash)" }
  public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

// MARK: - Text

extension PasswordHash {
  /// Why a text is no hash that a service takes, to follow the field's name.
  public enum Malformed: Error {
    case form
    case tooWeak
    case tooCostly

    public var reason: String {
      switch self {
      case .form: "must be a hash as `touchstone operators hash` prints it: $argon2id$v=19$…"
      case .tooWeak: "is too weak a hash: make it anew with `touchstone operators hash`"
      case .tooCostly: "is too costly a hash: at most 256 MiB, 16 passes and 4 lanes"
      }
    }
  }

  public init(parsing text: String) throws(Malformed) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 6, parts[0].isEmpty, parts[1] == "argon2id", parts[2] == "v=19",
      let numbers = Self.numbers(parts[3]), let salt = Self.bytes(parts[4]), Self.saltBytes.contains(salt.count),
      let tag = Self.bytes(parts[5]), Self.tagBytes.contains(tag.count)
    else {
      throw .form
    }
    guard numbers.memory <= Self.memoryKibibytes.upperBound, numbers.passes <= Self.passes.upperBound,
      numbers.lanes <= Self.lanes.upperBound
    else {
      throw .tooCostly
    }
    guard numbers.memory >= Self.memoryKibibytes.lowerBound,
      UInt64(numbers.memory) * UInt64(numbers.passes) >= Self.minimumWork
    else {
      throw .tooWeak
    }
    guard
      let parameters = PasswordHasher.Parameters(
        memoryKibibytes: numbers.memory, passes: numbers.passes, lanes: numbers.lanes)
    else {
      throw .form
    }
    self.init(parameters, salt: salt, tag: tag)
  }

  /// The begin of each text.
  public static let prefix = "$argon2id$"

  /// The text for a configuration. It is no secret as a password is, and yet lets its reader guess at one.
  public var text: String {
    let (memory, passes, lanes) = (parameters.memoryKibibytes, parameters.passes, parameters.lanes)
    return "\(Self.prefix)v=19$m=\(memory),t=\(passes),p=\(lanes)$\(Self.base64(salt))$\(Self.base64(tag.value))"
  }

  private static func numbers(_ text: Substring) -> (memory: UInt32, passes: UInt32, lanes: UInt32)? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    func number(_ index: Int, _ name: String) -> UInt32? {
      guard parts[index].hasPrefix(name) else { return nil }
      let digits = parts[index].dropFirst(name.count)
      return digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt32(digits) : nil
    }
    guard parts.count == 3, let memory = number(0, "m="), let passes = number(1, "t="), let lanes = number(2, "p="),
      lanes > 0, passes > 0
    else {
      return nil
    }
    return (memory, passes, lanes)
  }

  private static func bytes(_ text: Substring) -> [UInt8]? { Base64.decode(String(text), padding: .none) }

  private static func base64(_ bytes: [UInt8]) -> String { Base64.encode(bytes, isPadded: false) }
}
