// Keys as orchestrators mount them.

import Glibc
import Testing

@testable import TouchstoneCrypto

@Suite struct MountedSecretTests {
  private let directory = KeyDirectory()

  /// Kubernetes swaps `..data` when a secret changes; what a path begins with is a link into it.
  @Test func `links within the directory are followed, to what there is now`() throws {
    try KeyStore.create(directory: directory.keys)
    let ring = try KeyRing.load(path: directory.keys)
    mkdir(directory.path(of: "..2026"), 0o700)
    for name in ["pepper", "sealing", "signing"] {
      directory.rename(name, to: "..2026/\(name)")
      symlink("..data/\(name)", directory.path(of: name))
    }
    symlink("..2026", directory.path(of: "..data"))
    #expect(try KeyRing.load(path: directory.keys).signing.jwkSet == ring.signing.jwkSet)
    #expect(try KeyRing.loadOrCreate(directory: directory.keys).signing.jwkSet == ring.signing.jwkSet)

    directory.write("..2026/bundle", Array(try KeyStore.export(directory: directory.keys).utf8))
    symlink("..data/bundle", directory.path(of: "bundle"))
    #expect(try KeyRing.load(path: directory.path(of: "bundle")).signing.jwkSet == ring.signing.jwkSet)
  }

  @Test(arguments: ["/etc/hostname", "../moved", "sealing/../../moved", "pepper"])
  func `links that lead elsewhere, or round, are not`(target: String) throws {
    try KeyStore.create(directory: directory.keys)
    directory.rename("pepper", to: "../moved")
    symlink(target, directory.path(of: "pepper"))
    let path = directory.keys
    let error = #expect(throws: KeyRingError.self) { try KeyRing.load(path: path) }
    #expect(error?.code == .wrongFileType)
    #expect(error?.path == directory.path(of: "pepper"))
  }

  @Test func `what a link leads to is checked as any file is`() throws {
    try KeyStore.create(directory: directory.keys)
    directory.rename("pepper", to: ".pepper")
    symlink(".pepper", directory.path(of: "pepper"))
    _ = try KeyRing.load(path: directory.keys)
    directory.setMode(".pepper", 0o644)
    let path = directory.keys
    let error = #expect(throws: KeyRingError.self) { try KeyRing.load(path: path) }
    #expect(error?.code == .exposed)
    #expect(error?.description == "\(path)/pepper: mode 0644 is open to others; use chmod go=")
  }
}
