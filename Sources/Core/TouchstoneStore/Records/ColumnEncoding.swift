// Values that stand in one column as bytes; the same in every store.

public import TouchstonePolicy

extension DomainStateBaseline {
  public init?(domainState: [UInt8]?, osMajorVersion: Int64?) {
    guard let domainState, let osMajorVersion else { return nil }
    self.init(domainState: domainState, osMajorVersion: UInt32(truncatingIfNeeded: osMajorVersion))
  }
}

extension CredentialRecord {
  /// One of the two columns is set; for a passkey, both are.
  public init?(hardwareKeys: [UInt8]?, profileTouchID: [UInt8]?) {
    switch (hardwareKeys, profileTouchID) {
    case (let passkey?, let digest?):
      guard let passkey = PasskeyRecord(encoded: passkey, digest: digest) else { return nil }
      self = .passkey(passkey)
    case (nil, let digest?):
      self = .profileTouchID(digest: digest)
    case (let keys?, nil):
      guard let keys = [HardwareKeyRecord](encoded: keys) else { return nil }
      self = .hardwareKeys(keys)
    case (nil, nil):
      return nil
    }
  }
}

/// The algorithm (four bytes, big-endian), one byte of flags, then credential id, public key, AAGUID, relying party and
/// each transport, each with its length in front; an attestation, if the flag says so, stands before the transports.
extension PasskeyRecord {
  private static var backupEligibleFlag: UInt8 { 0x01 }
  private static var backedUpFlag: UInt8 { 0x02 }
  private static var attestedFlag: UInt8 { 0x80 }

  public var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(bigEndian: UInt32(bitPattern: algorithm))
    var flags: UInt8 = 0
    if isBackupEligible { flags |= Self.backupEligibleFlag }
    if isBackedUp { flags |= Self.backedUpFlag }
    if attestation != nil { flags |= Self.attestedFlag }
    bytes.append(flags)
    for part in [credentialID, publicKey, aaguid] { bytes.append(lengthPrefixed: part) }
    bytes.append(lengthPrefixed: rpID)
    bytes += attestation?.encoded ?? []
    for transport in transports { bytes.append(lengthPrefixed: transport) }
    return bytes
  }

  public init?(encoded: [UInt8], digest: [UInt8]) {
    var rest = encoded[...]
    guard let algorithm = rest.popLength(), let flags = rest.popFirst(), let credentialID = rest.popBytes(),
      let publicKey = rest.popBytes(), let aaguid = rest.popBytes(), let rpID = rest.popLengthPrefixed()
    else { return nil }
    var attestation: KeyAttestationRecord?
    if flags & Self.attestedFlag != 0 {
      attestation = KeyAttestationRecord(popping: &rest)
      guard attestation != nil else { return nil }
    }
    self.init(
      digest: digest, credentialID: credentialID, algorithm: Int32(bitPattern: UInt32(algorithm)),
      publicKey: publicKey, aaguid: aaguid, isBackupEligible: flags & Self.backupEligibleFlag != 0,
      isBackedUp: flags & Self.backedUpFlag != 0, rpID: rpID, transports: [], attestation: attestation)
    while !rest.isEmpty {
      guard let transport = rest.popLengthPrefixed() else { return nil }
      transports.append(transport)
    }
  }
}

/// Each key: one byte for its protection with its flags, one for its length (four for an RSA key, as a flag says), then
/// the key. Then what the other flags announce: a hybrid key's other half, behind four bytes for its length, and an
/// attestation: one byte for its level, with a flag if its app is listed, four for the length of its facts, then name
/// and value in turn.
extension [HardwareKeyRecord] {
  private static var attestedFlag: UInt8 { 0x80 }
  private static var hybridFlag: UInt8 { 0x40 }
  private static var rsaFlag: UInt8 { 0x20 }

  public var encoded: [UInt8] {
    var bytes: [UInt8] = []
    for key in self {
      var first = key.protection.rawValue
      if key.kind == .rsa { first |= Self.rsaFlag }
      if key.attestation != nil { first |= Self.attestedFlag }
      if key.mlDSA65PublicKey != nil { first |= Self.hybridFlag }
      bytes.append(first)
      switch key.kind {
      case .p256:
        precondition(key.publicKey.count <= UInt8.max, "65 bytes: X9.63 on P-256")
        bytes.append(UInt8(key.publicKey.count))
        bytes += key.publicKey
      case .rsa: bytes.append(lengthPrefixed: key.publicKey)
      }
      if let otherHalf = key.mlDSA65PublicKey { bytes.append(lengthPrefixed: otherHalf) }
      if let attestation = key.attestation { bytes += attestation.encoded }
    }
    return bytes
  }

  public init?(encoded: [UInt8]) {
    self.init()
    var rest = encoded[...]
    while !rest.isEmpty {
      guard let first = rest.popFirst(),
        let protection = KeyProtection(
          rawValue: first & ~(Self.attestedFlag | Self.hybridFlag | Self.rsaFlag)),
        let publicKey = first & Self.rsaFlag == 0 ? rest.popShortBytes() : rest.popBytes()
      else { return nil }
      var key = HardwareKeyRecord(
        first & Self.rsaFlag == 0 ? .p256 : .rsa, publicKey: publicKey, protection: protection)
      if first & Self.hybridFlag != 0 {
        guard let otherHalf = rest.popBytes() else { return nil }
        key.mlDSA65PublicKey = otherHalf
      }
      if first & Self.attestedFlag != 0 {
        guard let attestation = KeyAttestationRecord(popping: &rest) else { return nil }
        key.attestation = attestation
      }
      append(key)
    }
  }
}

extension KeyAttestationRecord {
  private static let listedAppFlag: UInt8 = 0x80

  fileprivate var encoded: [UInt8] {
    var encodedFacts: [UInt8] = []
    for fact in facts {
      encodedFacts.append(lengthPrefixed: fact.name)
      encodedFacts.append(lengthPrefixed: fact.value)
    }
    var bytes = [level.rawValue | (isOfListedApp ? Self.listedAppFlag : 0)]
    bytes.append(lengthPrefixed: encodedFacts)
    return bytes
  }

  fileprivate init?(popping rest: inout ArraySlice<UInt8>) {
    guard let first = rest.popFirst(), let level = ProofLevel(rawValue: first & ~Self.listedAppFlag),
      let encodedFacts = rest.popBytes()
    else { return nil }
    var facts = encodedFacts[...]
    self.init(level: level, isOfListedApp: first & Self.listedAppFlag != 0, facts: [])
    while !facts.isEmpty {
      guard let name = facts.popLengthPrefixed(), let value = facts.popLengthPrefixed() else { return nil }
      self.facts.append(Fact(name: name, value: value))
    }
  }
}

/// Key id, public key, app and environment, each with its length in front: four bytes, big-endian.
extension AppAttestRecord {
  public var encoded: [UInt8] {
    var bytes: [UInt8] = []
    for field in [keyID, publicKey] { bytes.append(lengthPrefixed: field) }
    for field in [appID, environment] { bytes.append(lengthPrefixed: field) }
    return bytes
  }

  public init?(encoded: [UInt8]) {
    var rest = encoded[...]
    guard let keyID = rest.popBytes(), let publicKey = rest.popBytes(),
      let appID = rest.popLengthPrefixed(), let environment = rest.popLengthPrefixed(), rest.isEmpty
    else { return nil }
    self.init(keyID: keyID, publicKey: publicKey, appID: appID, environment: environment)
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

/// The salt, then the event's columns in their order, each with its length in front: four bytes, big-endian. A time has
/// eight bytes, big-endian.
extension EventDraft {
  package func encoded(salt: UniqueID) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(lengthPrefixed: salt.bytes)
    bytes.append(bigEndian: UInt32(8))
    bytes.append(bigEndian: time.microseconds)
    for text in [kind, applicationID, profileID, deviceID, bindingID, caller] { bytes.append(lengthPrefixed: text) }
    bytes.append(lengthPrefixed: details.encoded)
    return bytes
  }

  package static func pop(from rest: inout ArraySlice<UInt8>) -> (event: EventDraft, salt: UniqueID)? {
    guard let salt = rest.popBytes().flatMap({ UniqueID(bytes: $0) }), let time = rest.popBytes(), time.count == 8,
      let kind = rest.popLengthPrefixed(), let applicationID = rest.popLengthPrefixed(),
      let profileID = rest.popLengthPrefixed(), let deviceID = rest.popLengthPrefixed(),
      let bindingID = rest.popLengthPrefixed(), let caller = rest.popLengthPrefixed(),
      let details = rest.popBytes().flatMap({ [EventDetail](encoded: $0) })
    else { return nil }
    let microseconds = Int64(bitPattern: time.reduce(0) { $0 << 8 | UInt64($1) })
    let event = EventDraft(
      time: UnixTime(microseconds: microseconds), kind: kind, applicationID: applicationID, profileID: profileID,
      deviceID: deviceID, bindingID: bindingID, caller: caller, details: details)
    return (event, salt)
  }
}

extension [UInt8] {
  fileprivate mutating func append(lengthPrefixed bytes: [UInt8]) {
    append(bigEndian: UInt32(bytes.count))
    self += bytes
  }
}

extension ArraySlice<UInt8> {
  /// Four bytes, big-endian.
  fileprivate mutating func popLength() -> Int? {
    guard count >= 4 else { return nil }
    defer { removeFirst(4) }
    return prefix(4).reduce(0) { $0 << 8 | Int($1) }
  }

  /// With one byte for their length in front.
  fileprivate mutating func popShortBytes() -> [UInt8]? {
    guard let length = popFirst(), count >= length else { return nil }
    defer { removeFirst(Int(length)) }
    return [UInt8](prefix(Int(length)))
  }

  /// With their length in front.
  fileprivate mutating func popBytes() -> [UInt8]? {
    guard let length = popLength(), count >= length else { return nil }
    defer { removeFirst(length) }
    return [UInt8](prefix(length))
  }

  fileprivate mutating func popLengthPrefixed() -> String? {
    popBytes().map { String(decoding: $0, as: UTF8.self) }
  }
}
