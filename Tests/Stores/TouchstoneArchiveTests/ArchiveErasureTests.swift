import Encodings
import Glibc
import StoreConformance
import TestSupport
import Testing
import TouchstonePolicy
import TouchstoneStore
import TouchstoneStoreSQLite

@testable import TouchstoneArchive

/// R41: an auditor with the audit keys notices each content that goes from an archive file, unless one of the keys
/// signed that.
struct ArchiveErasureTests {
  /// Events 1 (accounts are signed) to 4 (bob's); two more are in the log.
  private static let file = "events-000000000001-000000000004.jsonl"

  struct Attack: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The finding of the verification by the keys.
    let finding: String?
    /// The file's lines, before bob was erased with a signature and after it: header, four events, trailer.
    let change: @Sendable (_ before: [String], inout [String]) -> Void

    init(_ description: String, _ finding: String?, _ change: @escaping @Sendable ([String], inout [String]) -> Void) {
      testDescription = description
      self.finding = finding
      self.change = change
    }
  }

  static let attacks = [
    Attack("nothing", nil) { _, _ in },
    Attack("another content removed", "event 3 lost its content in the archive, and no audit key signed that") {
      before, lines in lines[3] = erased(before[3])
    },
    Attack("the first signed event removed", "event 1 lost its content in the archive, and no audit key signed that") {
      before, lines in lines[1] = erased(before[1])
    },
    Attack("with the signature of another event", "event 3 accounts for removed content, and its signature is forged") {
      before, lines in lines[3] = erased(before[3], signature: signature(in: lines[4]))
    },
    Attack("with a signature by a stranger", "signed by the unknown audit key") { before, lines in
      let signature = signature(in: lines[4]).replacing("kkk", with: "sss")
      lines[3] = erased(before[3], signature: signature)
    },
    Attack("a signature taken away", "event 4 lost its content in the archive, and no audit key signed that") {
      before, lines in lines[4] = erased(before[4])
    },
    Attack("half of a signature", "is not as it was written") { before, lines in
      lines[4].replace(#/"signature_key":"k*",/#, with: "")
    },
    Attack("as if the log had erased it", "event 3 lost its content, and no erasure accounts for it") {
      before, lines in lines[3] = erased(before[3], in: "log")
    },
    Attack("the erased content back", nil) { before, lines in lines[4] = before[4] },
  ]

  @Test(arguments: attacks) func whatNoKeySignedIsNamed(_ attack: Attack) async throws {
    try await withArchive { data, archive in
      let path = "\(archive)/\(Self.file)"
      let before = try Self.lines(path)
      #expect(try Self.erase("bob", in: archive, signs: true).changedEventCount == 1)
      var lines = try Self.lines(path)
      attack.change(before, &lines)
      try Self.write(lines, to: path)
      #expect(try Self.finding(data, archive)?.contains(attack.finding ?? "") ?? (attack.finding == nil))
      if attack.finding == nil { #expect(try Self.finding(data, archive) == nil) }
    }
  }

  /// A file that fits by itself, and not the log: its eraser signs for hashes that only that file has.
  @Test func aSignatureForAFileThatWasMadeAnewServesForNoOther() async throws {
    try await withArchive { data, archive in
      let path = "\(archive)/\(Self.file)"
      let before = try Self.lines(path)
      var chain = EventChain()
      var lines = [before[0]]
      for line in before[1...4] {
        guard case .event(let archived)? = ArchiveLine(Array(line.utf8)),
          case .whole(var event, let salt) = archived.record.content
        else { continue }
        if event.profileID == "alice" { event.profileID = "bob" }
        lines.append(Self.text(.event(ArchivedEvent(record: chain.append(event, salt: salt)))))
      }
      lines.append(Self.text(.trailer(chain.head)))
      try Self.write(lines, to: path)
      #expect(try Self.erase("bob", in: archive, signs: true).changedEventCount == 3)
      let forged = try Self.lines(path)
      var restored = before
      for index in 2...4 { restored[index] = Self.erased(before[index], signature: Self.signature(in: forged[index])) }
      try Self.write(restored, to: path)
      #expect(try Self.finding(data, archive)?.contains("its signature is forged") == true)
    }
  }

  @Test func whatWasErasedBeforeThereWasAKeyIsSignedByACommand() async throws {
    try await withArchive { data, archive in
      #expect(try Self.erase("bob", in: archive, signs: false).changedEventCount == 1)
      #expect(try Self.finding(data, archive)?.contains("event 4 lost its content in the archive") == true)
      let log = try SQLiteAuditLog.verify(directory: data, accounts: .strict(nil))
      let withoutKeys = try ArchiveVerification(directory: archive, before: log, accounts: .strict(nil))
      #expect(withoutKeys.accounts.unsignedArchiveErasures == 1)
      for count in [1, 0] {
        let eraser = try ArchiveEraser(directory: archive, .signEarlierErasures, sign: Self.sign)
        #expect(eraser.changedEventCount == count)
      }
      #expect(try Self.finding(data, archive) == nil)
    }
  }

  // MARK: Another process writes meanwhile

  /// An erasure reads a file in pieces, so another process can change what was verified and is not read again yet.
  @Test func noSignatureAccountsForAContentThatWasPutInMeanwhile() async throws {
    try await withCarolsFile { path, archive in
      let before = try Self.lines(path)
      var signed: [[UInt8]] = []
      let error = #expect(throws: ArchiveError.self) {
        try Self.eraseCarol(in: archive) { message in
          signed.append(message)
          try? Self.write(
            Self.changing(before, at: Self.longCount - 1) { $0.replacing("alice", with: "carol") }, to: path)
        }
      }
      #expect(error?.message.contains("event \(Self.longCount - 1) was altered") == true)
      let carols = before[1...3].compactMap { line in Self.record(line) }.filter { $0.event?.profileID == "carol" }
      #expect(carols.count == 2)
      #expect(signed == carols.map { ArchiveErasure.message(for: $0) })
    }
  }

  @Test func aFileThatLostAnEventOfTheProfileMeanwhileIsNotReplaced() async throws {
    try await withCarolsFile { path, archive in
      let before = try Self.lines(path)
      let shorter = Self.changing(before, at: Self.longCount) { Self.erased($0, in: "log") }
      let error = #expect(throws: ArchiveError.self) {
        try Self.eraseCarol(in: archive) { _ in try? Self.write(shorter, to: path) }
      }
      #expect(error?.message.contains("another process wrote into it meanwhile") == true)
      #expect(try Self.lines(path) == shorter)
    }
  }

  @Test func aFileThatWasPutInPlaceOfTheNewOneIsNotKept() async throws {
    try await withCarolsFile { path, archive in
      let before = try Self.lines(path)
      let error = #expect(throws: ArchiveError.self) {
        try Self.eraseCarol(in: archive) { _ in
          remove("\(path).new")
          try? Self.write(before, to: "\(path).new")
        }
      }
      #expect(error?.message.contains("another process put another file there") == true)
      #expect(try Self.lines(path) == before)
    }
  }

  private static let longCount = 2_001

  /// Its first, third and last event are carol's. It is more than twice as long as what is read at once.
  private func withCarolsFile(_ body: (_ path: String, _ archive: String) throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      let archive = "\(directory)/archive"
      _ = try ArchiveDirectory(claiming: archive)
      var chain = EventChain()
      let events = (1...Self.longCount).map { number in
        let isCarols = [1, 3, Self.longCount].contains(number)
        return chain.append(.at(number, profile: isCarols ? "carol" : "alice"), salt: .random())
      }
      let path = "\(archive)/\(ArchiveFileName(first: 1, last: UInt64(Self.longCount)).text)"
      try EventArchiverTests.write(events, to: path)
      try body(path, archive)
    }
  }

  private static func eraseCarol(in archive: String, signing: @escaping (_ message: [UInt8]) -> Void) throws {
    let task = ArchiveEraser.Task.erase(applicationID: Sample.application, profileID: "carol")
    _ = try ArchiveEraser(directory: archive, task) { message in
      signing(message)
      return sign(message)
    }
  }

  private static func changing(_ lines: [String], at index: Int, _ change: (String) -> String) -> [String] {
    var lines = lines
    lines[index] = change(lines[index])
    return lines
  }

  private static func record(_ line: String) -> EventRecord? {
    if case .event(let archived)? = ArchiveLine(Array(line.utf8)) { archived.record } else { nil }
  }

  // MARK: Helpers

  private static let sign: @Sendable ([UInt8]) -> AccountSignature? = { AccountKeys.sample.sign($0, Sample.now) }

  private static func erase(_ profile: String, in archive: String, signs: Bool) throws -> ArchiveEraser {
    let task = ArchiveEraser.Task.erase(applicationID: Sample.application, profileID: profile)
    guard signs else { return try ArchiveEraser(directory: archive, task) }
    return try ArchiveEraser(directory: archive, task, sign: sign)
  }

  /// The finding of a verification by the keys.
  private static func finding(_ data: String, _ archive: String) throws -> String? {
    let accounts = AccountReview.strict(AccountKeys.sample.check, signedFrom: .beginning)
    let log = try SQLiteAuditLog.verify(directory: data, accounts: accounts)
    #expect(log.fault == nil)
    do throws(ArchiveError) {
      let found = try ArchiveVerification(directory: archive, before: log, accounts: accounts)
      return found.fault.map { "\($0)" }
    } catch {
      return error.message
    }
  }

  /// As an attacker writes the line of an event without its content.
  private static func erased(_ line: String, signature: String = "", in place: String = "archive") -> String {
    guard case .event(let archived)? = ArchiveLine(Array(line.utf8)) else { return line }
    let (record, hash) = (archived.record, Hexadecimal.text(archived.record.hash))
    let digest = Hexadecimal.text(record.content.digest)
    return
      #"{"sequence":\#(record.sequence),"erased":"\#(place)","digest":"\#(digest)",\#(signature)"hash":"\#(hash)"}"#
  }

  private static func signature(in line: String) -> String {
    line.firstMatch(of: #/"signature_key":"[^"]*","signature":"[^"]*",/#).map { String($0.output) } ?? ""
  }

  private static func text(_ line: ArchiveLine) -> String { String(decoding: line.encoded, as: UTF8.self) }

  private static func lines(_ path: String) throws -> [String] {
    try File.text(path).split(separator: "\n").map(String.init)
  }

  /// Into the same file, if there is one.
  private static func write(_ lines: [String], to path: String) throws {
    try File.write(lines.map { "\($0)\n" }.joined(), to: path)
  }

  private func withArchive(_ body: (_ data: String, _ archive: String) async throws -> Void) async throws {
    var options = SQLiteStoreOptions()
    options.clock = { Sample.now }
    try await withStore(options: options) { store, data, archive in
      try await store.signAccounts(with: .sample)
      try await store.commit(events: (1..<6).map { .at($0 < 4 ? $0 : 200, profile: $0 == 3 ? "bob" : "alice") })
      let archiver = EventArchiver(store: store, directory: archive, maximumEvents: 4)
      while case .archived = try archiver.archive(before: Sample.now + .seconds(100)) {}
      #expect(try File.archiveNames(in: archive) == [Self.file])
      try await body(data, archive)
    }
  }
}
