// Takes a profile out of the archive: where its events leave the log, EraseProfile does not reach them any more.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Its events keep their places, their digests and their hashes, so that the chain still verifies. Each says that it was erased here: no event
/// accounts for it, and a verification counts it apart.
public struct ArchiveEraser {
  /// How many events lost their content now.
  public private(set) var erasedCount = 0
  /// How many files were written anew.
  public private(set) var changedFileCount = 0

  private let applicationID: String
  private let profileID: String

  /// File by file: where it is cut short, the next run does the rest.
  public init(directory path: String, applicationID: String, profileID: String) throws(ArchiveError) {
    self.applicationID = applicationID
    self.profileID = profileID
    // Not made where it is not there: nothing would be erased, and nobody told.
    _ = try ArchiveDirectory(reading: path)
    let directory = try ArchiveDirectory(claiming: path)
    for name in try directory.files() { try erase(in: name, of: directory) }
  }

  private mutating func erase(
    in name: ArchiveFileName, of directory: ArchiveDirectory
  ) throws(ArchiveError) {
    let path = directory.path(of: name)
    _ = try ArchiveFile.verify(path)
    var found = 0
    _ = try ArchiveFile.read(path) { event in found += isMeant(event.record) ? 1 : 0 }
    guard found > 0 else { return }
    _ = try directory.makeFile(name) { writer throws(ArchiveError) in
      let range = try ArchiveFile.read(
        path, begin: { start throws(ArchiveError) in try writer.write(.header(start)) }
      ) { event throws(ArchiveError) in
        try writer.write(.event(erased(event)))
      }
      try writer.write(.trailer(range.end))
    }
    erasedCount += found
    changedFileCount += 1
  }

  private func erased(_ event: ArchivedEvent) -> ArchivedEvent {
    isMeant(event.record) ? ArchivedEvent(record: event.record.erased(), isErasedHere: true) : event
  }

  private func isMeant(_ record: EventRecord) -> Bool {
    guard let event = record.event else { return false }
    return Identifier.areEqual(event.applicationID, applicationID) && Identifier.areEqual(event.profileID, profileID)
  }
}
