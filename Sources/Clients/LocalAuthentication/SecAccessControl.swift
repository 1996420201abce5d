// Access controls (SecAccessControl.h): the proofs that a key or a keychain item requires from the person.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
internal import SimulatedPhone

/// Which conditions, and how they combine.
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
  public let rawValue: CFOptionFlags

  public init(rawValue: CFOptionFlags) {
    self.rawValue = rawValue
  }

  public static let userPresence = Self(rawValue: 1 << 0)
  public static let biometryAny = Self(rawValue: 1 << 1)
  public static let biometryCurrentSet = Self(rawValue: 1 << 3)
  public static let devicePasscode = Self(rawValue: 1 << 4)
  public static let companion = Self(rawValue: 1 << 5)
  public static let or = Self(rawValue: 1 << 14)
  public static let and = Self(rawValue: 1 << 15)
  public static let privateKeyUsage = Self(rawValue: 1 << 30)
  public static let applicationPassword = Self(rawValue: 1 << 31)

  /// The names of iOS 9 and 10.
  public static let touchIDAny = biometryAny
  public static let touchIDCurrentSet = biometryCurrentSet
  /// The name before companions other than a watch.
  public static let watch = companion
}

/// Made by `SecAccessControlCreateWithFlags`.
public final class SecAccessControl: Sendable {
  let simulated: SimulatedPhone.AccessControl
  /// A `kSecAttrAccessible…`.
  let accessibility: String

  init(_ simulated: SimulatedPhone.AccessControl, accessibility: String) {
    self.simulated = simulated
    self.accessibility = accessibility
  }
}

/// Equal if they require the same, as in Core Foundation.
extension SecAccessControl: Hashable {
  public static func == (left: SecAccessControl, right: SecAccessControl) -> Bool {
    left.simulated == right.simulated && left.accessibility == right.accessibility
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(simulated)
    hasher.combine(accessibility)
  }
}

public func SecAccessControlGetTypeID() -> CFTypeID { 1 }

/// All of several conditions must be met, unless `.or` says that one is enough.
/// - Parameter protection: a `kSecAttrAccessible…`.
/// - Returns: `nil`, and `errSecParam`, for flags that exclude each other; `nil`, and `errSecUnimplemented`, for
///   features that the simulated phone lacks: application passwords, and required companions.
public func SecAccessControlCreateWithFlags(
  _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
  guard let accessibility = protection as? String, !flags.isContradictory else { return report(errSecParam, to: error) }
  let conditions = flags.conditions
  let needsCompanion = flags.contains(.companion) && (conditions.isEmpty || !flags.contains(.or))
  if needsCompanion || flags.contains(.applicationPassword) { return report(errSecUnimplemented, to: error) }
  return SecAccessControl(
    SimulatedPhone.AccessControl(
      conditions, combination: flags.contains(.or) ? .any : .all,
      isBoundToPasscode: accessibility == kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly as String),
    accessibility: accessibility)
}

extension SecAccessControlCreateFlags {
  /// Apple's rules: one way to combine, one kind of biometrics, and user presence alone.
  fileprivate var isContradictory: Bool {
    let besidePresence: Self = [.userPresence, .applicationPassword, .privateKeyUsage]
    return isSuperset(of: [.or, .and]) || isSuperset(of: [.biometryAny, .biometryCurrentSet])
      || contains(.userPresence) && !isSubset(of: besidePresence)
  }
}

extension SecAccessControlCreateFlags {
  fileprivate var conditions: Set<SimulatedPhone.KeyProtection> {
    let all: [(SecAccessControlCreateFlags, SimulatedPhone.KeyProtection)] = [
      (.userPresence, .userPresence), (.biometryAny, .biometryAny), (.biometryCurrentSet, .biometryCurrentSet),
      (.devicePasscode, .devicePasscode),
    ]
    return Set(all.filter { contains($0.0) }.map(\.1))
  }
}

extension LAAccessControlOperation {
  /// Making a key or an item shows no prompt.
  var isUse: Bool {
    switch self {
    case .createItem, .createKey: false
    case .useItem, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange: true
    }
  }
}
