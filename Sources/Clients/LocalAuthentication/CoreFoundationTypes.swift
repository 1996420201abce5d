// The names of Core Foundation that the Security functions use. On Apple's platforms Foundation exports them; here they
// are names of Foundation's own classes, so that `query as CFDictionary` and `result as? Data` mean the same.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

public typealias CFTypeRef = AnyObject
public typealias CFTypeID = UInt
public typealias CFIndex = Int
public typealias CFString = NSString
public typealias CFData = NSData
public typealias CFArray = NSArray
public typealias CFDate = NSDate
public typealias CFNumber = NSNumber
public typealias CFDictionary = NSDictionary
public typealias CFBoolean = NSNumber
public typealias CFError = NSError
public typealias CFErrorDomain = CFString
public typealias CFOptionFlags = UInt
public typealias OSStatus = Int32

/// Has no effect: Swift manages memory.
public final class CFAllocator: Sendable {
  private init() {}
}

public let kCFAllocatorDefault: CFAllocator! = nil
public var kCFBooleanTrue: CFBoolean! { NSNumber(value: true) }
public var kCFBooleanFalse: CFBoolean! { NSNumber(value: false) }

/// Apple's `AnyHashable` treats an `NSString` and a `String` of the same letters as the same key. Foundation on Linux
/// does not: without this, `attributes[kSecAttrAccount]` would always be `nil` in a result cast to `[AnyHashable:
/// Any]`.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
  public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}

public func CFErrorGetDomain(_ error: CFError!) -> CFErrorDomain! { error.domain as NSString }

public func CFErrorGetCode(_ error: CFError!) -> CFIndex { error.code }

public func CFErrorCopyUserInfo(_ error: CFError!) -> CFDictionary! { error.userInfo as NSDictionary }

public func CFErrorCopyDescription(_ error: CFError!) -> CFString! { error.localizedDescription as NSString }

/// As for objects of Core Foundation, which are equal if their contents are.
public func CFEqual(_ left: CFTypeRef!, _ right: CFTypeRef!) -> Bool {
  guard let left = left as? AnyHashable, let right = right as? AnyHashable else { return left === right }
  return left == right
}

/// Careful code checks a keychain's result with `CFGetTypeID(item) == SecKeyGetTypeID()`.
public func CFGetTypeID(_ value: CFTypeRef!) -> CFTypeID {
  switch value {
  case is SecKey: SecKeyGetTypeID()
  case is SecAccessControl: SecAccessControlGetTypeID()
  case is SecCertificate: SecCertificateGetTypeID()
  case is SecIdentity: SecIdentityGetTypeID()
  default: 0
  }
}
