// How what belongs to a shard travels through closures that only the shard runs.

/// Carries a reference that only its shard may use through a `@Sendable` closure that only its shard runs.
struct ShardConfined<Value>: @unchecked Sendable {
  // Sendable because: `value` is read on the shard only.
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
