// An event that may be left out where there are too many like it, and what is committed with it or without. Pure.

internal import TouchstoneStore

/// A refusal, a denial or a report that changes nothing lasting.
struct ThrottledEvent: Sendable {
  let event: EventDraft
  private let changes: [Change]
  private let posture: PostureNote?
  let isRequired: Bool
  let key: EventThrottle.Key

  var showsPosture: Bool { posture != nil }

  /// - Parameters:
  ///   - answer: what the caller is told; the event's reason unless given.
  ///   - named: the binding, profile or token that the call is about, as the caller named it.
  ///   - isEarned: see `EventThrottle.Key`.
  ///   - isRequired: never left out.
  ///   - changes: what the refusal rests on, and what it changes. They are committed with the event and without.
  ///   - posture: what came with the call. It rests on nothing.
  init(
    _ event: EventDraft, answering answer: String? = nil, about named: String = "", isEarned: Bool = false,
    isRequired: Bool = false, on changes: [Change] = [], beside posture: PostureNote? = nil
  ) {
    (self.event, self.changes, self.posture, self.isRequired) = (event, changes, posture, isRequired)
    key = EventThrottle.Key(
      applicationID: event.applicationID, named: named, isEarned: isEarned, kind: event.kind,
      answer: answer ?? event.reason ?? "")
  }

  /// Returns the changes and the event to commit; `nil`: there are none.
  func changeSet(_ admission: EventThrottle.Admission) -> ChangeSet? {
    guard admission.suppressed != nil || isRequired else {
      let changes = changes + (admission.notesPosture ? posture.map { [$0.change] } ?? [] : [])
      return changes.isEmpty ? nil : ChangeSet(changes: changes)
    }
    return ChangeSet(
      changes: changes + (posture.map { [$0.change] } ?? []), events: [event.telling(admission.suppressed ?? 0)])
  }
}

/// The posture that came with a call, for the record of the binding that it is about.
struct PostureNote: Sendable {
  let seen: SeenPosture
  let bindingID: String

  var change: Change { .notePosture(bindingID: bindingID, seen) }
}

extension EventDraft {
  fileprivate var reason: String? { details.first { $0.key == "reason" }?.value }

  /// - Parameter suppressed: how many like it had no event since the last one.
  fileprivate func telling(_ suppressed: Int) -> EventDraft {
    guard suppressed > 0 else { return self }
    var event = self
    event.details.append(.suppressed(suppressed))
    event.details.sort { $0.key < $1.key }
    return event
  }
}
