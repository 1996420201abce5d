// All that a store keeps, on its way to another kind of store.

package import TouchstonePolicy

/// The tables that are moved row by row, by their name in every store.
package enum MovedTable: String, Sendable, Hashable, CaseIterable {
  case bindings
  case devices
  case profiles
  case evaluations
  case tokens
  case usedTickets = "used_tickets"
  case events
}

/// A row as it stands, with its version.
package enum MovedRow: Sendable, Hashable {
  case binding(BindingRecord)
  /// `standInUntil`: when a stand-in may be forgotten.
  case device(DeviceRecord, standInUntil: UnixTime?)
  case profile(ProfileRecord, standInUntil: UnixTime?)
  case evaluation(EvaluationRecord)
  case token(TokenRecord)
  case usedTicket(ExpiringKey)
  case event(EventRecord)
}

/// What a store keeps once.
package struct MovedMarks: Sendable, Hashable {
  package var lineage: Lineage
  /// What expires earlier counts as used.
  package var sweptBefore: UnixTime
  /// Of all profiles that were erased.
  package var highestErasedVersion: RecordVersion
  /// `nil`: it was never served from.
  package var keyCheck: [UInt8]?
  /// The last event that was archived and dropped.
  package var eventChainStart: EventChain.Head
  package var eventChainHead: EventChain.Head

  package init(
    lineage: Lineage, sweptBefore: UnixTime, highestErasedVersion: RecordVersion, keyCheck: [UInt8]?,
    eventChainStart: EventChain.Head, eventChainHead: EventChain.Head
  ) {
    self.lineage = lineage
    self.sweptBefore = sweptBefore
    self.highestErasedVersion = highestErasedVersion
    self.keyCheck = keyCheck
    self.eventChainStart = eventChainStart
    self.eventChainHead = eventChainHead
  }
}

/// How many rows each table has.
package typealias MovedCounts = [MovedTable: Int64]

/// The one database that a move goes to. Two that it had gone to could both be served from.
package struct MoveTarget: Sendable, Hashable {
  /// Random; it stands there, too. Names and addresses of one database differ, and change.
  package var mark: UniqueID
  /// For people: where it was when the move began.
  package var place: String

  package init(mark: UniqueID, place: String) {
    self.mark = mark
    self.place = place
  }
}

/// Where it comes from: nobody writes to it meanwhile.
package protocol MoveSource {
  func marks() throws(StoreOpenError) -> MovedMarks
  func counts() throws(StoreOpenError) -> MovedCounts
  /// All rows, at most `limit` at a time, events in their order. Answers why it ended early, where the source is to blame.
  func forEachBatch<Failure>(
    of table: MovedTable, limit: Int, _ body: ([MovedRow]) async throws(Failure) -> Void
  ) async throws(Failure) -> StoreOpenError?
  /// `nil` before `markBeingMoved`.
  func target() throws(StoreOpenError) -> MoveTarget?
  /// From now on nobody serves from here, durably: what is used there would be unused here. Only a move to the same
  /// target goes on with it. Where this fails, all is as before.
  func markBeingMoved(to target: MoveTarget) throws(StoreOpenError)
}

/// What a move came to.
public struct StoreMove: Sendable, Hashable {
  /// By the table's name: the same in both.
  public var counts: [String: Int64]
  /// Of the log where it is now, after every event was read there.
  public var events: AuditLogVerification

  package init(counts: MovedCounts, events: AuditLogVerification) {
    self.counts = Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
    self.events = events
  }
}
