// The actions of `touchstone keys`: a first set, rotation, pruning, and the bundle.

import Dispatch
import Encodings
import Synchronization
import Testing

@testable import TouchstoneCrypto

@Suite struct KeyStoreTests {
  private let directory = KeyDirectory()

  private let now: Int64 = 1_800_000_000

  @Test func `a first set is what a service loads`() throws {
    try KeyStore.create(directory: directory.keys)
    let files = ["audit", "audit/1.pem", "pepper", "sealing", "sealing/1.key", "signing", "signing/1.pem"]
    #expect(directory.listing() == files)
    let ring = try KeyRing.load(path: directory.keys)
    let listed = try KeyStore.list(directory: directory.keys, at: now)
    #expect(listed.map(\.file) == ["sealing/1.key", "signing/1.pem", "audit/1.pem"])
    #expect(listed.map(\.standing) == [.active, .active, .active])
    #expect(listed[1].id == ring.signing.active(at: now).keyID)
  }

  @Test func `no set is made over another`() throws {
    try KeyStore.create(directory: directory.keys)
    let pepper = directory.read("pepper")
    let path = directory.keys
    let error = #expect(throws: KeyRingError.self) { try KeyStore.create(directory: path) }
    #expect(error?.code == .exists)
    #expect(directory.read("pepper") == pepper)
  }

  @Test func `loading makes nothing`() throws {
    let path = directory.keys
    let error = #expect(throws: KeyRingError.self) { try KeyRing.load(path: path) }
    #expect(error?.code == .missing)
    #expect(
      error?.description
        == "\(path): is missing: restore it from a backup; for a new service, make it with `touchstone keys new`")
    #expect(directory.mode("") == nil)
  }

  @Test func `a directory without keys is named as such, whatever its mode, and nothing is made in it`() throws {
    try KeyStore.create(directory: directory.keys)
    let data = String(directory.keys.dropLast("/keys".count))
    for (path, advice) in [
      (data, "its keys are in \(data)/keys"), ("/etc", "name the directory that `touchstone keys new` made"),
    ] {
      let error = #expect(throws: KeyRingError.self) {
        try KeyStore.rotate(directory: path, .signing, usedFrom: now)
      }
      #expect(error?.code == .missing)
      #expect(error?.description.lowercased().hasPrefix("\(path.lowercased()): holds no keys") == true)
      #expect(error?.description.lowercased().contains(advice.lowercased()) == true)
    }
    #expect(directory.mode("../signing") == nil)
  }

  @Test(arguments: [KeyKind.sealing, .signing])
  func `a key is rotated and the old one pruned when nothing of it lives`(kind: KeyKind) throws {
    try KeyStore.create(directory: directory.keys)
    func standings(at time: Int64) throws -> [KeyStore.Entry.Standing] {
      try KeyStore.list(directory: directory.keys, at: time).filter { $0.kind == kind }.map(\.standing)
    }
    let file = try KeyStore.rotate(directory: directory.keys, kind, usedFrom: now)
    #expect(file == "\(kind.rawValue)/2.from-\(CalendarTime.basic(now))\(kind.suffix)")
    #expect(directory.mode(file) == 0o600)
    #expect(try standings(at: now - 1) == [.active, .coming(from: now)])
    #expect(try standings(at: now) == [.retired(since: now), .active])

    let end = now + KeyStore.timeAfterRetirement.components.seconds
    #expect(try KeyStore.prune(directory: directory.keys, at: end) == [])
    #expect(try standings(at: end + 1) == [.prunable, .active])
    #expect(try KeyStore.prune(directory: directory.keys, at: end + 1) == ["\(kind.rawValue)/1\(kind.suffix)"])
    #expect(try standings(at: end + 1) == [.active])
    #expect(try KeyStore.rotate(directory: directory.keys, kind, usedFrom: end).contains("/3.from-"))
  }

  @Test func `of parallel rotations each adds a key of its own, and all are served`() throws {
    try KeyStore.create(directory: directory.keys)
    let failures = Mutex<[KeyRingError]>([])
    DispatchQueue.concurrentPerform(iterations: 12) { index in
      do throws(KeyRingError) {
        _ = try KeyStore.rotate(directory: directory.keys, .sealing, usedFrom: now + Int64(index))
      } catch {
        failures.withLock { $0.append(error) }
      }
    }
    #expect(failures.withLock { $0 }.isEmpty)
    #expect(try KeyRing.load(path: directory.keys).sealing.accepted.count == 13)
  }

  @Test func `a key that was replaced at a time that nobody noted is not pruned`() throws {
    try KeyStore.create(directory: directory.keys)
    directory.write("sealing/2.key", randomBytes(32))
    #expect(try KeyStore.prune(directory: directory.keys, at: .max) == [])
    #expect(try KeyStore.list(directory: directory.keys, at: now)[0].standing == .retired(since: nil))
  }

  @Test func `what would not be served is neither rotated nor exported`() throws {
    try KeyStore.create(directory: directory.keys)
    directory.remove("signing/1.pem")
    let before = directory.listing()
    let path = directory.keys
    #expect(throws: KeyRingError.self) { try KeyStore.rotate(directory: path, .sealing, usedFrom: 0) }
    #expect(throws: KeyRingError.self) { try KeyStore.export(directory: path) }
    #expect(directory.listing() == before)
  }

  @Test func `a full directory takes no more keys`() throws {
    try KeyStore.create(directory: directory.keys)
    for _ in 2...16 { _ = try KeyStore.rotate(directory: directory.keys, .sealing, usedFrom: now) }
    let path = directory.keys
    let error = #expect(throws: KeyRingError.self) { try KeyStore.rotate(directory: path, .sealing, usedFrom: 0) }
    #expect(error?.code == .tooManyKeys)
    _ = try KeyRing.load(path: directory.keys)
  }

  // MARK: Bundles

  @Test func `a bundle holds all that the directory does`() throws {
    try KeyStore.create(directory: directory.keys)
    _ = try KeyStore.rotate(directory: directory.keys, .signing, usedFrom: now)
    let text = try KeyStore.export(directory: directory.keys)
    #expect(!text.contains("\n"))
    let (kept, carried) = (try KeyRing.load(path: directory.keys), try load(text))
    #expect(kept.signing.jwkSet == carried.signing.jwkSet)
    for time in [now - 1, now] {
      #expect(kept.signing.active(at: time).keyID == carried.signing.active(at: time).keyID)
    }
    #expect(Pepper.areEqual(kept.pepper.check, carried.pepper.check))
    let sealed = Sealer(keys: kept.sealing).seal([1], context: [], at: now)
    #expect(Sealer(keys: carried.sealing).open(sealed, context: []) == [1])

    directory.write("bundle", Array(text.replacing(" ", with: "\n").utf8) + [0x0A])
    #expect(try KeyRing.load(path: directory.path(of: "bundle")).signing.jwkSet == kept.signing.jwkSet)
    directory.setMode("bundle", 0o644)
    let path = directory.path(of: "bundle")
    #expect(throws: KeyRingError.self) { try KeyRing.load(path: path) }
  }

  @Test func `a damaged bundle is refused without a word of it`() throws {
    try KeyStore.create(directory: directory.keys)
    let words = try KeyStore.export(directory: directory.keys).split(separator: " ").map(String.init)
    let pepper = words[1]
    let damages: [([String], KeyRingError.Code)] = [
      ([], .malformed), (["nonsense"], .malformed), (Array(words.dropFirst()), .malformed),
      (Array(words.dropLast()), .malformed), (words.dropLast(3) + ["end"], .missing),
      ([words[0], "end"], .missing), ([words[0], words[2], words[3], "end"], .missing),
      ([words[0], pepper, "end"], .missing), ([words[0], pepper] + words[1...], .malformed),
      (words.dropLast() + [words[2], "end"], .malformed), (words.dropLast() + ["sealing/2=AAAA", "end"], .malformed),
      (words.dropLast() + ["pepper", "end"], .malformed),
      ([words[0], pepper + "=", words[2], words[3], "end"], .malformed),
      ([words[0], String(pepper.dropLast(2)), words[2], words[3], "end"], .malformed),
      (words.dropLast() + ["sealing/2.key=" + words[2].split(separator: "=")[1], "end"], .duplicateKey),
    ]
    for (damaged, code) in damages {
      let error = #expect(throws: KeyRingError.self) { try load(damaged.joined(separator: " ")) }
      #expect(error?.code == code, "\(damaged.count) words")
      #expect(error?.path.hasPrefix("KEYS") == true)
      #expect(!"\(error!)".contains(pepper.dropFirst(7).prefix(8)))
    }
  }

  private func load(_ text: String) throws(KeyRingError) -> KeyRing {
    try KeyRing.load(bundle: SecretBytes(Array(text.utf8)), from: "KEYS")
  }
}
