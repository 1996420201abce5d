// The names of Core Foundation that the Security functions use. On Apple's platforms Foundation exports them; here they
// are names of Foundation's own classes, so that `query as CFDictionary` and `result as? Data` mean the same.

public import Foundation

public typealias CFTypeRef = AnyObject
public typealias CFTypeID = UInt
public typealias CFString = NSString
public typealias CFData = NSData
public typealias CFDictionary = NSDictionary
public typealias CFBoolean = NSNumber
public typealias CFError = NSError
public typealias CFOptionFlags = UInt
public typealias OSStatus = Int32

/// Never needed: memory is Swift's.
public final class CFAllocator: Sendable {
  private init() {}
}

public let kCFAllocatorDefault: CFAllocator! = nil
public var kCFBooleanTrue: CFBoolean! { NSNumber(value: true) }
public var kCFBooleanFalse: CFBoolean! { NSNumber(value: false) }

/// `CFGetTypeID(item) == SecKeyGetTypeID()` is how careful code looks at what a keychain gave it.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func CFGetTypeID(_ value: CFTypeRef!) -> CFTypeID {
  switch value {
  case is SecKey: SecKeyGetTypeID()
  case is SecAccessControl: SecAccessControlGetTypeID()
  default: 0
  }
}
