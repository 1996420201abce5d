import COpenSSL
import Synchronization

/// The keys of a server's session tickets (RFC 5077 §4): made here, known to no other process, and changed often. A
/// ticket is sealed with the newest key and opened with it or the one before, so that it lives for one to two
/// rotations.
final class TicketKeys: Sendable {
  /// As long as a ticket may be used.
  static let rotationTime = Duration.seconds(60 * 60)

  /// AES-256-CBC, then HMAC-SHA-256, as RFC 5077 recommends and OpenSSL arranges it.
  struct Key: Sendable {
    static let nameBytes = 16
    private static let secretBytes = 32

    let name: [UInt8]
    let encryption: [UInt8]
    let authentication: [UInt8]

    /// `nil` when there are no random numbers.
    init?() {
      guard let name = Self.random(Self.nameBytes), let encryption = Self.random(Self.secretBytes),
        let authentication = Self.random(Self.secretBytes)
      else { return nil }
      self.name = name
      self.encryption = encryption
      self.authentication = authentication
    }

    private static func random(_ count: Int) -> [UInt8]? {
      var bytes = [UInt8](repeating: 0, count: count)
      return RAND_priv_bytes(&bytes, Int32(count)) == 1 ? bytes : nil
    }
  }

  private struct State: Sendable {
    var newest: Key?
    var previous: Key?
    var rotatedAt: MonotonicTime
  }

  private let state: Mutex<State>

  init(now: MonotonicTime = .now()) {
    state = Mutex(State(newest: Key(), previous: nil, rotatedAt: now))
  }

  /// `nil` when there are no random numbers: then no ticket is made.
  func sealingKey(at now: MonotonicTime) -> Key? {
    state.withLock { state in
      Self.rotate(&state, at: now)
      return state.newest
    }
  }

  /// `nil` for a ticket that is too old, or another server's.
  func openingKey(named name: UnsafeRawBufferPointer, at now: MonotonicTime) -> Key? {
    state.withLock { state in
      Self.rotate(&state, at: now)
      return [state.newest, state.previous].lazy.compactMap(\.self).first { name.elementsEqual($0.name) }
    }
  }

  private static func rotate(_ state: inout State, at now: MonotonicTime) {
    let due = state.rotatedAt.advanced(by: rotationTime)
    guard due <= now else { return }
    // No client came for two rotations: even the newest is too old.
    state.previous = due.advanced(by: rotationTime) <= now ? nil : state.newest
    state.newest = Key()
    state.rotatedAt = now
  }
}

// MARK: - OpenSSL's side

extension TicketKeys {
  /// `context` keeps an unowned reference; the owner of `context` keeps this, too.
  func install(in context: OpaquePointer) {
    SSL_CTX_set_ex_data(context, Self.contextSlot, Unmanaged.passUnretained(self).toOpaque())
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context) { ssl, name, iv, cipher, mac, isSealing in
      guard let ssl, let name, let iv, let keys = TicketKeys.of(ssl) else { return TicketKeys.failed }
      return isSealing == 1 ? keys.seal(name, iv, cipher, mac) : keys.open(name, iv, cipher, mac)
    }
  }

  /// "Application data", which is ours.
  private static let contextSlot: Int32 = 0

  // The callback's results.
  private static let failed: Int32 = -1
  private static let unknown: Int32 = 0
  private static let sealed: Int32 = 1
  /// The client also gets a new ticket, because each ticket is to be used once.
  private static let openedToBeRenewed: Int32 = 2

  private static func of(_ ssl: OpaquePointer) -> TicketKeys? {
    guard let pointer = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), contextSlot) else { return nil }
    return Unmanaged<TicketKeys>.fromOpaque(pointer).takeUnretainedValue()
  }

  private func seal(
    _ name: UnsafeMutablePointer<UInt8>, _ iv: UnsafeMutablePointer<UInt8>, _ cipher: OpaquePointer?,
    _ mac: OpaquePointer?
  ) -> Int32 {
    guard let key = sealingKey(at: .now()), RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1 else {
      return Self.failed
    }
    name.update(from: key.name, count: Key.nameBytes)
    guard EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key.encryption, iv) == 1 else { return Self.failed }
    return copenssl_set_hmac_key(mac, key.authentication, key.authentication.count) == 1 ? Self.sealed : Self.failed
  }

  private func open(
    _ name: UnsafeMutablePointer<UInt8>, _ iv: UnsafeMutablePointer<UInt8>, _ cipher: OpaquePointer?,
    _ mac: OpaquePointer?
  ) -> Int32 {
    let name = UnsafeRawBufferPointer(start: name, count: Key.nameBytes)
    guard let key = openingKey(named: name, at: .now()) else { return Self.unknown }
    guard EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key.encryption, iv) == 1 else { return Self.failed }
    return copenssl_set_hmac_key(mac, key.authentication, key.authentication.count) == 1
      ? Self.openedToBeRenewed : Self.failed
  }
}
