// The events that upkeep writes for operators, as if the operator had called.

internal import TouchstonePolicy
internal import TouchstoneStore

extension EventDraft {
  static func ofOperator(_ kind: String, at time: UnixTime, _ details: KeyValuePairs<String, String>) -> EventDraft {
    EventDraft(
      time: time, kind: kind, applicationID: "", caller: "operator",
      details: details.map { EventDetail(key: $0.key, value: $0.value) })
  }
}

extension Store {
  /// Appends an event that belongs to no change. If that fails, the caller tries again with its next report.
  func append(_ event: EventDraft, orElse failed: @escaping @Sendable (StoreError) -> Void) {
    commit(ChangeSet(events: [event])) { result in
      if case .failure(let error) = result { failed(error) }
    }
  }
}
