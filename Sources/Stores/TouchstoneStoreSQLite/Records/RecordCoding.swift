// Columns ⇄ records, as far as this store has a way of its own.

internal import TouchstonePolicy
internal import TouchstoneStore

extension Statement {
  func bind(_ key: ExpiringKey) -> Statement {
    bind(key.expiresAt).bind(key.id)
  }
}

extension Row {
  mutating func key() throws(SQLiteError) -> ExpiringKey {
    let expiresAt = time()
    return ExpiringKey(expiresAt: expiresAt, id: try value(UniqueID(bytes: blob()), "id"))
  }
}

extension BindingRecord {
  /// Has its columns.
  static let joined = """
    bindings LEFT JOIN binding_uses ON binding_uses.binding_number = number
    LEFT JOIN binding_postures ON binding_postures.binding_number = number
    """
}
