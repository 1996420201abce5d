import COpenSSL
import Synchronization

/// A client's sessions: what lets its next connection to the same server skip the certificates. Each is used once (RFC
/// 8446 §C.4), as the server hands out a new one with every connection.
final class ClientSessionCache: Sendable {
  /// A session is 2 to 5 KB with its certificates. Two for each of some dozen servers.
  static let capacity = 64

  private struct Entry: @unchecked Sendable {
    // Sendable because: a session is not changed once it is here, and its references are counted atomically.
    let key: [UInt8]
    /// With one reference.
    let session: OpaquePointer
  }

  private let entries = Mutex<[Entry]>([])

  deinit {
    entries.withLock { entries in
      for entry in entries { SSL_SESSION_free(entry.session) }
    }
  }

  var count: Int { entries.withLock(\.count) }

  /// Takes the reference over. The oldest makes room.
  func put(_ session: OpaquePointer, for key: [UInt8]) {
    let entry = Entry(key: key, session: session)
    let evicted = entries.withLock { entries in
      entries.append(entry)
      return entries.count > Self.capacity ? entries.removeFirst() : nil
    }
    if let evicted { SSL_SESSION_free(evicted.session) }
  }

  /// The newest; the reference is the caller's.
  func take(for key: [UInt8]) -> OpaquePointer? {
    let entry = entries.withLock { entries in
      entries.lastIndex { $0.key == key }.map { entries.remove(at: $0) }
    }
    guard let session = entry?.session else { return nil }
    guard SSL_SESSION_is_resumable(session) == 1, !hasExpired(session) else {
      SSL_SESSION_free(session)
      return nil
    }
    return session
  }
}
