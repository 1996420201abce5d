// How many records a peer may send that carry no data: key updates, tickets, alerts.

/// Pure. Each costs us new keys or at least a decryption, and the peer next to nothing.
struct ControlRecordBudget {
  /// Several tickets and some alerts.
  private static let burst = 32
  /// No peer needs new keys as often as that: AES-GCM is good for 2^24 full records (RFC 8446 §5.5).
  private static let bytesPerRecord = 1 << 20

  private var count = 0
  private var bytes = 0

  private(set) var isExceeded = false

  mutating func received(_ count: Int) {
    bytes &+= count
  }

  mutating func receivedControlRecord() {
    count += 1
    if count > Self.burst + bytes / Self.bytesPerRecord { isExceeded = true }
  }
}
