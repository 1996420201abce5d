// Erases a profile in the archive. EraseProfile does not reach events that left the log.

internal import TouchstonePolicy
public import TouchstoneStore

/// Its events keep their places, digests and hashes, so that the chain still verifies. Each says that it was erased
/// here, signed if there is an audit key, because no event accounts for it.
public struct ArchiveEraser {
  public enum Task: Sendable {
    case erase(applicationID: String, profileID: String)
    /// Signs the unsigned erasures in the files, and erases nothing.
    case signEarlierErasures
  }

  /// The number of events that were erased or signed.
  public private(set) var changedEventCount = 0
  /// The number of files that were rewritten.
  public private(set) var changedFileCount = 0

  private let task: Task
  private let sign: (_ message: [UInt8]) -> AccountSignature?

  /// Works file by file: if it is interrupted, the next run does the rest.
  ///
  /// - Parameter sign: signs with the audit key in use; `nil`: there is none.
  public init(
    directory path: String, _ task: Task, sign: @escaping (_ message: [UInt8]) -> AccountSignature? = { _ in nil }
  ) throws(ArchiveError) {
    self.task = task
    self.sign = sign
    // A missing directory is an error: in a new one nothing would be erased, without any message.
    _ = try ArchiveDirectory(reading: path)
    let directory = try ArchiveDirectory(claiming: path)
    for name in try directory.files() { try change(name, of: directory) }
  }

  private mutating func change(
    _ name: ArchiveFileName, of directory: ArchiveDirectory
  ) throws(ArchiveError) {
    let file = try ArchiveFile.open(directory.path(of: name))
    var found = 0
    let range = try ArchiveFile.verify(file) { event in found += isMeant(event) ? 1 : 0 }
    guard found > 0 else { return }
    var changed = 0
    _ = try directory.makeFile(name) { writer throws(ArchiveError) in
      // Verified again, each event before it is changed: another process may write into the file meanwhile, and a
      // signature must not account for a content that the event's hash does not cover.
      let rewritten = try ArchiveFile.verify(file) { event throws(ArchiveError) in
        changed += isMeant(event) ? 1 : 0
        try writer.write(.event(self.changed(event)))
      } begin: { start throws(ArchiveError) in
        try writer.write(.header(start))
      }
      guard rewritten == range, changed == found else {
        throw .damaged(file.path, "another process wrote into it meanwhile; nothing was changed")
      }
      try writer.write(.trailer(range.end))
      return range
    }
    changedEventCount += changed
    changedFileCount += 1
  }

  private func changed(_ event: ArchivedEvent) -> ArchivedEvent {
    guard isMeant(event) else { return event }
    let signature = sign(ArchiveErasure.message(for: event.record))
    return ArchivedEvent(record: event.record.erased(), erasureHere: ArchiveErasure(signature: signature))
  }

  private func isMeant(_ archived: ArchivedEvent) -> Bool {
    switch task {
    case .signEarlierErasures:
      return archived.erasureHere.map { $0.signature == nil } ?? false
    case .erase(let applicationID, let profileID):
      guard let event = archived.record.event, !AccountClaim.isAccount(event) else { return false }
      return Identifier.areEqual(event.applicationID, applicationID) && Identifier.areEqual(event.profileID, profileID)
    }
  }
}
