// How much of the log goes into the next archive file: a value.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Takes the log's events from where it begins, and says up to which they are old enough.
///
/// The first event that is younger ends it, whatever comes behind, for what is archived is the log's beginning. An erased
/// event says no time: it goes with the next one that does.
struct ArchivePlan {
  /// A file takes some seconds to write, and some 50 MB.
  static let maximumEventsPerFile: UInt64 = 100_000

  let start: EventChain.Head
  /// As far as the file goes; `start` where there is nothing for it yet.
  private(set) var end: EventChain.Head
  private(set) var isComplete = false
  /// The last event taken that the file has room for.
  private var position: EventChain.Head
  private let cutoff: UnixTime
  private let logEnd: UInt64
  private let fileEnd: UInt64

  /// - Parameters:
  ///   - head: of the whole log.
  ///   - cutoff: what happened before it is old enough.
  init(
    start: EventChain.Head, head: EventChain.Head, cutoff: UnixTime, maximumEvents: UInt64 = maximumEventsPerFile
  ) {
    self.start = start
    self.cutoff = cutoff
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
    guard let event = record.event else { return }
    guard event.time < cutoff else {
      isComplete = true
      return
    }
    end = position
    isComplete = record.sequence >= fileEnd
  }
}
