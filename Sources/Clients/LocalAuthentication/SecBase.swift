// Results and randomness of the Security framework (SecBase.h, SecRandom.h).
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// A text for a log.
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
  switch status {
  case errSecSuccess: "No error."
  case errSecUnimplemented: "Not simulated."
  case errSecParam: "A parameter is missing or wrong."
  case errSecUserCanceled: "Canceled by the person."
  case errSecAuthFailed: "The person could not be authenticated."
  case errSecDuplicateItem: "The item is in the keychain already."
  case errSecItemNotFound: "No such item is in the keychain."
  case errSecInteractionNotAllowed: "A prompt was needed and not allowed."
  case errSecVerifyFailed: "The signature is not this key's over this message."
  default: nil
  }
}

/// The only source of randomness.
public final class SecRandom: Sendable {
  private init() {}
}

public typealias SecRandomRef = SecRandom
public let kSecRandomDefault: SecRandomRef? = nil

@discardableResult
public func SecRandomCopyBytes(_ source: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
  var generator = SystemRandomNumberGenerator()
  for offset in 0..<count {
    bytes.storeBytes(of: UInt8.random(in: 0...255, using: &generator), toByteOffset: offset, as: UInt8.self)
  }
  return errSecSuccess
}

extension Unmanaged where Instance == NSError {
  /// In the error domain of Security's codes.
  static func status(_ status: OSStatus) -> Unmanaged<CFError> {
    let text = SecCopyErrorMessageString(status, nil).map { [NSLocalizedDescriptionKey: $0 as Any] }
    return .passRetained(NSError(domain: "NSOSStatusErrorDomain", code: Int(status), userInfo: text))
  }
}
