// How keys come to be, are read again, rotated, and refused where others could have seen them.

import Dispatch
import Encodings
import Glibc
import Synchronization
import Testing

@testable import TouchstoneCrypto

@Suite struct KeyRingTests {
  private let directory = KeyDirectory()

  @Test func `the first start makes keys and the next reads them`() throws {
    let first = try KeyRing.loadOrCreate(directory: directory.keys)
    let second = try KeyRing.loadOrCreate(directory: directory.keys)
    #expect(isSame(first, second))

    let other = KeyDirectory()
    #expect(try !isSame(first, KeyRing.loadOrCreate(directory: other.keys)))
  }

  @Test func `only the owner can read what was made`() throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    let files = ["audit", "audit/1.pem", "pepper", "sealing", "sealing/1.key", "signing", "signing/1.pem"]
    #expect(directory.listing() == files)
    for name in ["", "sealing", "signing", "audit"] { #expect(directory.mode(name) == 0o700) }
    for name in ["pepper", "sealing/1.key", "signing/1.pem", "audit/1.pem"] { #expect(directory.mode(name) == 0o600) }
    #expect(directory.read("pepper").count == 32)
    #expect(directory.read("sealing/1.key").count == 32)
    #expect(String(decoding: directory.read("signing/1.pem"), as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
  }

  @Test func `parallel first starts agree`() throws {
    let rings = Mutex<[Result<KeyRing, KeyRingError>]>([])
    DispatchQueue.concurrentPerform(iterations: 16) { _ in
      let ring = Result { () throws(KeyRingError) in try KeyRing.loadOrCreate(directory: directory.keys) }
      rings.withLock { $0.append(ring) }
    }
    let loaded = try rings.withLock { $0 }.map { try $0.get() }
    #expect(loaded.count == 16)
    #expect(loaded.allSatisfy { isSame($0, loaded[0]) })
    let files = ["audit", "audit/1.pem", "pepper", "sealing", "sealing/1.key", "signing", "signing/1.pem"]
    #expect(directory.listing() == files)
  }

  @Test func `a first start that was cut short is completed`() throws {
    let first = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.remove("signing/1.pem")
    directory.write("signing/.new-unfinished", [1, 2, 3])
    let second = try KeyRing.loadOrCreate(directory: directory.keys)
    #expect(second.signing.active(at: now).keyID != first.signing.active(at: now).keyID)
    #expect(second.pepper.digest(of: [], purpose: "") == first.pepper.digest(of: [], purpose: ""))
  }

  @Test func `the latest key whose time has come is in use, all others are accepted`() throws {  // R40
    let first = try KeyRing.loadOrCreate(directory: directory.keys)
    let oldSealer = Sealer(keys: first.sealing)
    let (nextSigning, nextSealing) = (SigningKey.random(), randomBytes(32))
    let mark = ".from-" + CalendarTime.basic(now + 60)
    directory.write("signing/10\(mark).pem", Array(nextSigning.pem.utf8))
    directory.write("sealing/10\(mark).key", nextSealing)

    let both = try KeyRing.loadOrCreate(directory: directory.keys)
    #expect(both.signing.active(at: now + 59).keyID == first.signing.active(at: now).keyID)
    #expect(both.signing.active(at: now + 60).keyID == nextSigning.keyID)
    #expect(both.signing.accepted.map(\.keyID) == [nextSigning.keyID, first.signing.active(at: now).keyID])
    let sealer = Sealer(keys: both.sealing)
    let (early, late) = (sealer.seal([1], context: [], at: now + 59), sealer.seal([2], context: [], at: now + 60))
    #expect(oldSealer.open(early, context: []) == [1])
    #expect(oldSealer.open(late, context: []) == nil)
    #expect(sealer.open(early, context: []) == [1])
    #expect(sealer.open(late, context: []) == [2])

    directory.remove("signing/1.pem")
    directory.remove("sealing/1.key")
    let retired = try KeyRing.loadOrCreate(directory: directory.keys)
    #expect(retired.signing.accepted.map(\.keyID) == [nextSigning.keyID])
    #expect(Sealer(keys: retired.sealing).open(early, context: []) == nil)
    #expect(Sealer(keys: retired.sealing).open(late, context: []) == [2])
  }

  @Test(
    arguments: ["", "signing", "sealing", "pepper", "sealing/1.key", "signing/1.pem"], [0o040, 0o020, 0o004, 0o001])
  func `what others may touch is refused`(name: String, extra: Int) throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.setMode(name, directory.mode(name)! | mode_t(extra))
    expectError(.exposed, at: name)
  }

  @Test(
    .enabled(if: geteuid() == 0, "only root can give files away"),
    arguments: ["", "signing", "pepper", "signing/1.pem"])
  func `what belongs to a stranger is refused`(name: String) throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.setOwner(name, 12345)
    expectError(.foreignOwner, at: name)
  }

  @Test(arguments: ["", "signing", "sealing", "pepper", "sealing/1.key", "signing/1.pem"])
  func `no symbolic link is followed`(name: String) throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.replaceByLink(name)
    expectError(.wrongFileType, at: name)
  }

  @Test func `a pipe or a directory in a file's place is refused`() throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.remove("pepper")
    mkfifo("\(directory.keys)/pepper", 0o600)
    expectError(.wrongFileType, at: "pepper")
    directory.remove("pepper")
    mkdir("\(directory.keys)/pepper", 0o700)
    expectError(.wrongFileType, at: "pepper")
  }

  @Test(
    arguments: [
      ("pepper", []), ("pepper", randomBytes(31)), ("pepper", randomBytes(33)),
      ("pepper", [UInt8](repeating: 0, count: 32)),
      ("sealing/1.key", []), ("sealing/1.key", randomBytes(31)), ("sealing/1.key", randomBytes(33)),
      ("sealing/1.key", [UInt8](repeating: 0xff, count: 32)),
      ("signing/1.pem", []), ("signing/1.pem", Array("nonsense".utf8)), ("signing/1.pem", randomBytes(100)),
      ("signing/1.pem", [UInt8](repeating: UInt8(ascii: "A"), count: 1025)),
    ] as [(String, [UInt8])])
  func `a malformed file is refused and left as it is`(name: String, content: [UInt8]) throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.remove(name)
    directory.write(name, content)
    expectError(.malformed, at: name)
    #expect(directory.read(name) == content)
  }

  @Test func `a lost pepper is not replaced`() throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.remove("pepper")
    expectError(.missing, at: "pepper")
    #expect(!directory.listing().contains("pepper"))
  }

  @Test(arguments: [
    "signing/2.pem.bak", "signing/02.pem", "signing/0.pem", "signing/-1.pem", "signing/2.key", "sealing/2.pem",
    "signing/next.pem", "signing/2.next.pem", "signing/2.from-.pem", "signing/2.from-20260230T000000Z.pem",
    "signing/2.from-20260101T000000.pem", "signing/2.from-2026-01-01T00:00Z.pem", "signing/2.pem.from-20260101T000000Z",
  ])
  func `a file whose name says nothing is refused`(name: String) throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.write(name, Array(SigningKey.random().pem.utf8))
    expectError(.unexpectedFile, at: name)
  }

  @Test func `one key in two files is refused`() throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    directory.write("signing/2.pem", directory.read("signing/1.pem"))
    expectError(.duplicateKey, at: "signing/2.pem")
  }

  @Test func `two keys with one number are refused`() throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    let name = "signing/1.from-20260102T030405Z.pem"
    directory.write(name, Array(SigningKey.random().pem.utf8))
    expectError(.duplicateKey, at: name)
  }

  @Test func `forgotten keys are noticed`() throws {
    _ = try KeyRing.loadOrCreate(directory: directory.keys)
    for number in 2...17 { directory.write("sealing/\(number).key", randomBytes(32)) }
    expectError(.tooManyKeys, at: "sealing")
  }

  @Test func `a missing parent is named`() {
    let error = #expect(throws: KeyRingError.self) { try KeyRing.loadOrCreate(directory: "/nonexistent/keys") }
    #expect(error?.code == .system)
    #expect(error?.description == "/nonexistent/keys: mkdir: No such file or directory")
  }

  /// Loading fails with this code and names this file.
  private func expectError(
    _ code: KeyRingError.Code, at name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let (keys, path) = (directory.keys, directory.path(of: name))
    let error = #expect(throws: KeyRingError.self, sourceLocation: sourceLocation) {
      try KeyRing.loadOrCreate(directory: keys)
    }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    #expect(error?.path == path, sourceLocation: sourceLocation)
  }
}

/// Any time does.
private let now: Int64 = 1_800_000_000

/// Same signing keys, sealing keys and pepper, as far as use can tell.
private func isSame(_ left: KeyRing, _ right: KeyRing) -> Bool {
  left.signing.jwkSet == right.signing.jwkSet
    && Sealer(keys: right.sealing).open(Sealer(keys: left.sealing).seal([1], context: [], at: now), context: []) == [1]
    && left.pepper.digest(of: [1], purpose: "") == right.pepper.digest(of: [1], purpose: "")
}
