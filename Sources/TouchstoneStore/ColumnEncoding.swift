// Lists that stand in one column, as bytes; the same in every store.

internal import TouchstonePolicy

/// Each key: one byte for what guards it, one for the key's length, the key.
extension [HardwareKeyRecord] {
  package var encoded: [UInt8] {
    flatMap { key in
      precondition(key.publicKey.count <= UInt8.max, "65 bytes: X9.63 on P-256")
      return [key.protection.rawValue, UInt8(key.publicKey.count)] + key.publicKey
    }
  }

  package init?(encoded: [UInt8]) {
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
  package var encoded: [UInt8] {
    var bytes: [UInt8] = []
    for detail in self {
      bytes.append(lengthPrefixed: detail.key)
      bytes.append(lengthPrefixed: detail.value)
    }
    return bytes
  }

  package init?(encoded: [UInt8]) {
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
