// What was archived of the audit log, and may be dropped from it.

/// All events after `start` and up to `end`, as they stand in an archive file.
public struct ArchivedEvents: Sendable, Hashable {
  /// Where the kept log began when they were read.
  public var start: EventChain.Head
  public var end: EventChain.Head
  /// Up to this event no profile was erased since they were read: otherwise the file may hold what is gone.
  public var unerasedThrough: UInt64

  public init(start: EventChain.Head, end: EventChain.Head, unerasedThrough: UInt64) {
    self.start = start
    self.end = end
    self.unerasedThrough = unerasedThrough
  }
}

extension EventChain.Head {
  /// The last event that may be archived.
  package var archivableEnd: UInt64 { startOfEnd }
}

extension StoreError {
  /// `Store.drop` found another log than the one that was archived.
  package static let otherLog = StoreError(code: .conflict, message: "the audit log is not as it was archived")
}
