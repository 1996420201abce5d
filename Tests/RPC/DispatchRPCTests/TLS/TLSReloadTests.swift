import Glibc
import Testing
import RPCLoopback
import TestSupport

@testable import DispatchRPC

// Files of certificates: what is refused, and new ones while calls run.

@Suite(.mustEnd) struct TLSReloadTests {
  private let files = TLSFiles()

  // MARK: Unusable files

  enum Fault: String, CaseIterable {
    case missingChain, missingKey, emptyChain, emptyKey, directory, pipe, huge
    case notACertificate, cutShort, notAKey, keyWithPassword, keyOfAnother
    case keyOpenToOthers, keyWritableByOthers, keyUnreadable
    case expired, notYetValid, expiredIntermediate, forClients, weak
    case missingAuthorities, emptyAuthorities

    private static let advice = "take their permissions away (in a volume of Kubernetes: defaultMode)"

    /// The file that the error names, and its complaint.
    func complaint(_ pair: TLSFiles.Pair, _ authorities: String) -> RPCTLSError {
      switch self {
      case .missingChain: RPCTLSError(file: pair.chain, reason: "No such file or directory")
      case .missingKey: RPCTLSError(file: pair.key, reason: "No such file or directory")
      case .emptyChain, .notACertificate: RPCTLSError(file: pair.chain, reason: "holds no certificate in PEM")
      case .cutShort: RPCTLSError(file: pair.chain, reason: "certificate 1: bad end line")
      case .emptyKey, .notAKey, .keyWithPassword:
        RPCTLSError(file: pair.key, reason: "holds no private key in PEM, or one with a password")
      case .directory, .pipe: RPCTLSError(file: pair.chain, reason: "not a regular file")
      case .huge: RPCTLSError(file: pair.chain, reason: "larger than 1048576 bytes")
      case .keyOfAnother: RPCTLSError(file: pair.key, reason: "not the key of the certificate in \(pair.chain)")
      case .keyOpenToOthers:
        RPCTLSError(file: pair.key, reason: "open to other users (mode 644); \(Self.advice)")
      case .keyWritableByOthers:
        RPCTLSError(file: pair.key, reason: "open to other users (mode 602); \(Self.advice)")
      case .keyUnreadable: RPCTLSError(file: pair.key, reason: "Permission denied")
      case .expired: RPCTLSError(file: pair.chain, reason: "certificate 1 has expired")
      case .notYetValid: RPCTLSError(file: pair.chain, reason: "certificate 1 is not valid yet")
      case .expiredIntermediate: RPCTLSError(file: pair.chain, reason: "certificate 2 has expired")
      case .forClients:
        RPCTLSError(file: pair.chain, reason: "the certificate's usage does not allow it for a server")
      case .weak: RPCTLSError(file: pair.key, reason: "ee key too small")
      case .missingAuthorities: RPCTLSError(file: authorities, reason: "No such file or directory")
      case .emptyAuthorities: RPCTLSError(file: authorities, reason: "holds no certificate in PEM")
      }
    }
  }

  /// Root may read everything.
  private static let faults = Fault.allCases.filter { $0 != .keyUnreadable || getuid() != 0 }

  @Test(arguments: faults) func whatCannotBeUsedIsNamedAndChangesNothing(fault: Fault) async throws {
    let pair = files.pair("server", TLSFiles.server)
    let authorities = files.authorities(files.authority, named: "clients.pem")
    func load() throws(RPCTLSError) -> RPCServerTLS {
      try RPCServerTLS(
        certificateChainFile: pair.chain, privateKeyFile: pair.key, clients: .optional(authoritiesFile: authorities))
    }
    let tls = try load()
    let loopback = try Loopback(tls: tls)
    try make(fault, of: pair, authorities)
    let complaint = fault.complaint(pair, authorities)
    #expect(throws: complaint) { try tls.reload() }
    #expect(throws: complaint) { try load() }
    // A resumed session would not show it.
    let peer = RawTLSPeer(loopback.address)
    _ = await peer.connect()
    #expect(await peer.perform(\.peerCertificate) == pair.certificate.der)
    try await loopback.connect(RPCClientConfiguration(tls: files.client())).expectEcho([1])
  }

  private func make(_ fault: Fault, of pair: TLSFiles.Pair, _ authorities: String) throws {
    func overwrite(_ path: String, _ bytes: [UInt8]) {
      _ = files.directory.write(bytes, to: String(path.dropFirst(files.directory.path.utf8.count + 1)))
    }
    func replace(_ change: (inout CertificateRequest) -> Void) {
      var request = TLSFiles.server
      change(&request)
      _ = files.pair("server", request)
    }
    switch fault {
    case .missingChain: unlink(pair.chain)
    case .missingKey: unlink(pair.key)
    case .emptyChain: overwrite(pair.chain, [])
    case .emptyKey: overwrite(pair.key, [])
    case .directory:
      unlink(pair.chain)
      symlink("/tmp", pair.chain)
    case .pipe:
      unlink(pair.chain)
      mkfifo(pair.chain, 0o600)
    case .huge: truncate(pair.chain, 1 << 20 + 1)
    case .notACertificate: overwrite(pair.chain, pair.certificate.keyPEM)
    case .cutShort: overwrite(pair.chain, pair.certificate.chainPEM.dropLast(40))
    case .notAKey: overwrite(pair.key, pair.certificate.chainPEM)
    case .keyWithPassword: overwrite(pair.key, Array(Self.keyWithPassword.utf8))
    case .keyOfAnother: overwrite(pair.key, files.authority.issue(TLSFiles.server).keyPEM)
    case .keyOpenToOthers: chmod(pair.key, 0o644)
    case .keyWritableByOthers: chmod(pair.key, 0o602)
    case .keyUnreadable: chmod(pair.key, 0)
    case .expired: replace { $0.notAfterSeconds = -1 }
    case .notYetValid: replace { $0.notBeforeSeconds = 100 }
    case .expiredIntermediate:
      var request = CertificateRequest(commonName: "old")
      request.notAfterSeconds = -1
      overwrite(pair.chain, pair.certificate.chainPEM + files.authority.issue(request).chainPEM)
    case .forClients: replace { $0.usage = .client }
    case .weak: _ = files.pair("server", TLSFiles.server, key: .rsa1024)
    case .missingAuthorities: unlink(authorities)
    case .emptyAuthorities: overwrite(authorities, [])
    }
  }

  /// A key that belongs to no certificate here.
  private static let keyWithPassword = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAh1XjDqcDcWywICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEAAAAAAAAAAAAAAAAAAAAAAEgZAA
    AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    -----END ENCRYPTED PRIVATE KEY-----

    """

  @Test func aKeyMayBeReadByItsGroup() throws {
    let pair = files.pair("server", TLSFiles.server)
    chmod(pair.key, 0o640)
    _ = try RPCServerTLS(certificateChainFile: pair.chain, privateKeyFile: pair.key)
  }

  @Test func errorsTellNothingOfAFilesContent() throws {
    let secret = "0123456789abcdef0123456789abcdef"
    let pair = files.pair("server", TLSFiles.server)
    let key = files.directory.write(
      Array("-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----\n".utf8), to: "server.key")
    let error = try #require(throws: RPCTLSError.self) {
      try RPCServerTLS(certificateChainFile: pair.chain, privateKeyFile: key)
    }
    #expect(!error.description.contains("0123"))
  }

  // MARK: Reload

  @Test func newConnectionsGetTheNewCertificate() async throws {
    let tls = try files.server()
    let loopback = try Loopback(tls: tls)
    let before = RawTLSPeer(loopback.address)
    _ = await before.connect()
    let renewed = files.pair("server", TLSFiles.server)
    try tls.reload()
    let after = RawTLSPeer(loopback.address)
    _ = await after.connect()
    #expect(await before.perform(\.peerCertificate) != renewed.certificate.der)
    #expect(await after.perform(\.peerCertificate) == renewed.certificate.der)
  }

  @Test func reloadingUnderLoadLosesNoCall() async throws {
    let tls = try files.server()
    let loopback = try Loopback(RPCServerConfiguration(eventLoops: 2), tls: tls)
    let client = try files.client()
    let done = Box<Void>()
    let files = files
    try await withThrowingTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          let running = try await loopback.connect(RPCClientConfiguration(tls: client))
          while done.count == 0 { try await running.expectEcho([1, 2, 3]) }
        }
      }
      group.addTask {
        // Connections come meanwhile.
        while done.count == 0 {
          try await loopback.connect(RPCClientConfiguration(tls: client)).expectEcho([4])
        }
      }
      group.addTask {
        defer { done.put(()) }
        for round in 0..<50 {
          if round % 5 == 0 { _ = files.pair("server", TLSFiles.server) }
          try tls.reload()
          try await loopback.connect(RPCClientConfiguration(tls: client)).expectEcho([5])
        }
      }
      try await group.waitForAll()
    }
    #expect(tls.statistics.failed == 0)
  }

  @Test func aClientComesAsWhomItsNewCertificateNames() async throws {
    let loopback = try Loopback(tls: files.server(clients: .required(authoritiesFile: files.authorities())))
    let client = try files.client(CertificateRequest(commonName: "before", for: .client))
    let before = try await loopback.connect(RPCClientConfiguration(tls: client))
    _ = files.pair("client", CertificateRequest(commonName: "after", for: .client))
    try client.reload()
    let after = try await loopback.connect(RPCClientConfiguration(tls: client))
    _ = try await before.call("Who")
    #expect(await loopback.peers.next().certificate?.commonName == "before")
    _ = try await after.call("Who")
    #expect(await loopback.peers.next().certificate?.commonName == "after")
  }
}
