// Result codes and randomness of the Security framework (SecBase.h, SecRandom.h).
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

public let noErr: OSStatus = 0
public let errSecSuccess: OSStatus = 0
public let errSecUnimplemented: OSStatus = -4
public let errSecParam: OSStatus = -50
public let errSecUserCanceled: OSStatus = -128
public let errSecNotAvailable: OSStatus = -25291
public let errSecAuthFailed: OSStatus = -25293
public let errSecDuplicateItem: OSStatus = -25299
public let errSecItemNotFound: OSStatus = -25300
public let errSecInteractionNotAllowed: OSStatus = -25308
public let errSecDecode: OSStatus = -26275
public let errSecMissingEntitlement: OSStatus = -34018

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
  default: nil
  }
}

/// The only source of randomness there is.
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
  /// In the domain in which Security reports its codes.
  static func status(_ status: OSStatus) -> Unmanaged<CFError> {
    let text = SecCopyErrorMessageString(status, nil).map { [NSLocalizedDescriptionKey: $0 as Any] }
    return .passRetained(NSError(domain: "NSOSStatusErrorDomain", code: Int(status), userInfo: text))
  }
}
