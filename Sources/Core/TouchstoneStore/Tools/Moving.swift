// Everything that a store keeps, on its way to another kind of store.

package import TouchstonePolicy

/// The tables that move row by row, by their names in every store.
package enum MovedTable: String, Sendable, Hashable, CaseIterable {
  case bindings
  case receipts = "app_attest_receipts"
  case devices
  case profiles
  case evaluations
  case tokens
  case usedTickets = "used_tickets"
  case events
}

/// A row as it is, with its version.
package enum MovedRow: Sendable, Hashable {
  case binding(BindingRecord)
  case receipt(bindingID: String, [UInt8])
  case device(DeviceRecord)
  case profile(ProfileRecord)
  case evaluation(EvaluationRecord)
  case token(TokenRecord)
  case usedTicket(ExpiringKey)
  case event(EventRecord)
}

/// Values that a store keeps once.
package struct MovedMarks: Sendable, Hashable {
  package var lineage: Lineage
  /// A key that expires earlier counts as used.
  package var sweptBefore: UnixTime
  /// `nil`: it was never served.
  package var keyCheck: [UInt8]?
  /// The last event that was archived and dropped.
  package var eventChainStart: EventChain.Head
  package var eventChainHead: EventChain.Head

  package init(
    lineage: Lineage, sweptBefore: UnixTime, keyCheck: [UInt8]?, eventChainStart: EventChain.Head,
    eventChainHead: EventChain.Head
  ) {
    self.lineage = lineage
    self.sweptBefore = sweptBefore
    self.keyCheck = keyCheck
    self.eventChainStart = eventChainStart
    self.eventChainHead = eventChainHead
  }
}

/// How many rows each table has.
package typealias MovedCounts = [MovedTable: Int64]

/// The one target of a move. A second moved database could be served beside the first.
package struct MoveTarget: Sendable, Hashable {
  /// Tells the target from every other database. The addresses of one database differ and change.
  package var mark: UniqueID
  /// For people: the target's place when the move began.
  package var place: String

  package init(mark: UniqueID, place: String) {
    self.mark = mark
    self.place = place
  }
}

/// The source of a move: no process writes to it meanwhile.
package protocol MoveSource {
  /// Verifies the whole log before the move, because a broken log is not moved.
  func verifyLog() throws(StoreOpenError) -> AuditLogVerification
  func marks() throws(StoreOpenError) -> MovedMarks
  func counts() throws(StoreOpenError) -> MovedCounts
  /// All rows, at most `limit` at a time, events in their order.
  func forEachBatch(
    of table: MovedTable, limit: Int, _ body: ([MovedRow]) async throws(StoreOpenError) -> Void
  ) async throws(StoreOpenError)
  /// `nil` before `markBeingMoved`.
  func target() throws(StoreOpenError) -> MoveTarget?
  /// From now on no process serves from here, durably: a token that is used there would be unused here. Only a move to
  /// the same target continues it. If this fails, everything is as before.
  func markBeingMoved(to target: MoveTarget) throws(StoreOpenError)
  /// Records that the move has ended. If a crash takes this back, the record that it began remains (`markBeingMoved`).
  func markMoved() throws(StoreOpenError)
}

/// The result of a move.
public struct StoreMove: Sendable, Hashable {
  /// By the table's name, which is the same in both.
  public var counts: [String: Int64]
  /// The end of the log at its new place, after every event was read there.
  public var events: AuditLogVerification

  package init(counts: MovedCounts, events: AuditLogVerification) {
    self.counts = Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
    self.events = events
  }
}
