// Decides how much of the log goes into the next archive file: a value.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Takes the log's events from its beginning, and finds the last one that is old enough.
///
/// The first younger event ends the file, because only the log's beginning can be archived. An erased event has no
/// time, so it goes with the next event that has one. So does an event with a future time, from a clock that was ahead:
/// otherwise it would keep all later events in the log until then.
struct ArchivePlan {
  struct Limit {
    /// Earlier events are old enough.
    var cutoff: UnixTime
    /// Later times are ignored.
    var present = UnixTime(microseconds: .max)
  }

  /// A file takes some seconds to write, and some 50 MB.
  static let maximumEventsPerFile: UInt64 = 100_000

  let start: EventChain.Head
  /// The file's end; `start` if there is no event for it yet.
  private(set) var end: EventChain.Head
  private(set) var isComplete = false
  /// The last event for which the file has room.
  private var position: EventChain.Head
  private let limit: Limit
  private let logEnd: UInt64
  private let fileEnd: UInt64

  /// - Parameter head: the head of the whole log.
  init(
    start: EventChain.Head, head: EventChain.Head, limit: Limit, maximumEvents: UInt64 = maximumEventsPerFile
  ) {
    self.start = start
    self.limit = limit
    end = start
    position = start
    logEnd = head.archivableEnd
    fileEnd = min(logEnd, start.sequence + maximumEvents)
  }

  mutating func take(_ record: EventRecord) {
    guard !isComplete else { return }
    guard record.sequence <= logEnd else {
      isComplete = true
      return
    }
    if record.sequence <= fileEnd { position = EventChain.Head(sequence: record.sequence, hash: record.hash) }
    guard let event = record.event, event.time <= limit.present else { return }
    guard event.time < limit.cutoff else {
      isComplete = true
      return
    }
    end = position
    isComplete = record.sequence >= fileEnd
  }
}
