// Values that stand in one column as bytes; the same in every store.

public import TouchstonePolicy

extension DomainStateBaseline {
  public init?(domainState: [UInt8]?, osMajorVersion: Int64?) {
    guard let domainState, let osMajorVersion else { return nil }
    self.init(domainState: domainState, osMajorVersion: UInt32(truncatingIfNeeded: osMajorVersion))
  }
}

extension CredentialRecord {
  /// Exactly one of the two columns is set.
  public init?(hardwareKeys: [UInt8]?, profileTouchID: [UInt8]?) {
    if let profileTouchID {
      self = .profileTouchID(digest: profileTouchID)
    } else if let hardwareKeys, let keys = [HardwareKeyRecord](encoded: hardwareKeys) {
      self = .hardwareKeys(keys)
    } else {
      return nil
    }
  }
}

/// Each key: one byte for its protection, one for its length, then the key.
extension [HardwareKeyRecord] {
  public var encoded: [UInt8] {
    flatMap { key in
      precondition(key.publicKey.count <= UInt8.max, "65 bytes: X9.63 on P-256")
      return [key.protection.rawValue, UInt8(key.publicKey.count)] + key.publicKey
    }
  }

  public init?(encoded: [UInt8]) {
    self.init()
    var rest = encoded[...]
    while !rest.isEmpty {
      guard let protection = rest.popFirst().flatMap(KeyProtection.init), let length = rest.popFirst(),
        rest.count >= length
      else { return nil }
      append(HardwareKeyRecord(publicKey: [UInt8](rest.prefix(Int(length))), protection: protection))
      rest = rest.dropFirst(Int(length))
    }
  }
}

/// Key and value in turn, each with its length in front: four bytes, big-endian.
extension [EventDetail] {
  public var encoded: [UInt8] {
    var bytes: [UInt8] = []
    for detail in self {
      bytes.append(lengthPrefixed: detail.key)
      bytes.append(lengthPrefixed: detail.value)
    }
    return bytes
  }

  public init?(encoded: [UInt8]) {
    self.init()
    var rest = encoded[...]
    while !rest.isEmpty {
      guard let key = rest.popLengthPrefixed(), let value = rest.popLengthPrefixed() else { return nil }
      append(EventDetail(key: key, value: value))
    }
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func popLengthPrefixed() -> String? {
    let length = prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard count >= 4 + length else { return nil }
    defer { removeFirst(4 + length) }
    return String(decoding: dropFirst(4).prefix(length), as: UTF8.self)
  }
}
