// Columns ⇄ records, where this store has a way of its own.

internal import TouchstonePolicy
internal import TouchstoneStore

extension UniqueID {
  /// Tables whose rows come and go by time have it in front of their keys: what is written at the same time lies in so
  /// many places.
  static let spreadCount: Int16 = 16

  var spread: Int16 { Int16(low % UInt64(Self.spreadCount)) }
}

extension ExpiringKey {
  /// The order in which transactions insert them, so that no two wait for each other.
  static func < (left: ExpiringKey, right: ExpiringKey) -> Bool {
    (left.expiresAt, left.id.high, left.id.low) < (right.expiresAt, right.id.high, right.id.low)
  }
}

extension StatementCall {
  /// Three columns.
  consuming func bind(_ key: ExpiringKey) -> StatementCall {
    bind(key.id.spread).bind(key.expiresAt).bind(key.id)
  }

  /// With its last use, its posture and its counter.
  consuming func bind(whole binding: BindingRecord) -> StatementCall {
    bind(binding).bind(binding.lastUsedAt).bind(binding.lastSeen?.encoded).bind(binding.proofCounter)
  }
}

extension EvaluationRecord {
  /// Finished, where it may have been swept; `nil` where there is no row.
  init?(key: ExpiringKey, _ row: inout Row, sweptBefore: UnixTime) {
    let isSwept = key.expiresAt < sweptBefore
    guard !isSwept, !row.isNull else {
      row.skip(Self.columns.count)
      guard isSwept else { return nil }
      self = .swept(key)
      return
    }
    self.init(key: key, &row)
  }
}
