import CEpoll
import Glibc
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

// Unix sockets: whose file it is, and what becomes of it.

@Suite(.mustEnd) struct UnixSocketTests {
  private let directory = TemporaryDirectory()

  private var path: String { directory.path("rpc.sock") }

  @Test func callsGoThrough() async throws {
    let server = try Loopback(unixPath: path)
    #expect(server.address.description == "unix:\(path)")
    #expect(server.address.isLocal && server.address.isUnix && !server.address.isLoopback)
    let client = TestClient(server.address)
    try await client.connect()
    try await client.expectEcho([1, 2, 3])
    _ = try await client.call("Who")
    let peer = await server.peers.next()
    #expect(peer == RPCPeer(address: server.address, certificate: nil, isEncrypted: false))
    await server.stop()
  }

  @Test(arguments: [0o600, 0o660, 0o666] as [UInt32]) func theFileHasThePermissionsAskedFor(permissions: UInt32) throws
  {
    let server = try Loopback(unixPath: path, permissions: permissions)
    #expect(status()?.st_mode == S_IFSOCK | permissions)
    withExtendedLifetime(server) {}
  }

  @Test func onlyTheOwnerGetsInByDefault() throws {
    let loopback = try Loopback()
    _ = try loopback.server.listen(unixPath: path)
    #expect(status()?.st_mode == S_IFSOCK | 0o600)
  }

  @Test func theFileIsGoneAfterTheEnd() async throws {
    let server = try Loopback(unixPath: path)
    await server.stop()
    #expect(status() == nil)
  }

  @Test func aDeadServersSocketIsReplaced() async throws {
    leaveDeadSocket()
    let old = try #require(status())
    let server = try Loopback(unixPath: path)
    #expect(status()?.st_ino != old.st_ino || status()?.st_ctim.tv_nsec != old.st_ctim.tv_nsec)
    let client = TestClient(server.address)
    try await client.connect()
    await server.stop()
  }

  @Test func aLivingServersSocketIsNot() async throws {
    let server = try Loopback(unixPath: path)
    let error = try #require(throws: RPCServerError.self) { try Loopback(unixPath: path) }
    #expect(error.reason == "unix:\(path): another server listens there")
    let client = TestClient(server.address)
    try await client.connect()
    await server.stop()
  }

  /// Its backlog being full, it answers nobody, and lives.
  @Test func aBusyServersSocketIsNot() throws {
    let address = try SocketAddress.unix(path: path)
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    try #require(address.withSocketAddress { bind(listener, $0, $1) } == 0 && listen(listener, 0) == 0)
    var clients: [Int32] = []
    while let client = makeConnectingSocket(address) { clients.append(client) }
    defer { for client in clients { close(client) } }
    let error = try #require(throws: RPCServerError.self) { try Loopback(unixPath: path) }
    #expect(error.reason == "unix:\(path): another server listens there")
  }

  @Test(arguments: ["file", "directory", "link"]) func nothingElseIsReplaced(kind: String) throws {
    switch kind {
    case "file": close(open(path, O_CREAT | O_WRONLY, 0o600))
    case "directory": mkdir(path, 0o700)
    default: symlink("/dev/null", path)
    }
    let before = try #require(status())
    let error = try #require(throws: RPCServerError.self) { try Loopback(unixPath: path) }
    #expect(error.reason == "unix:\(path): there is a file that is not a socket")
    #expect(status()?.st_ino == before.st_ino)
    if kind == "directory" { rmdir(path) }
  }

  @Test func whoTookThePathOverKeepsIt() async throws {
    let first = try Loopback(unixPath: path)
    unlink(path)
    let second = try Loopback(unixPath: path)
    let inode = try #require(status()).st_ino
    await first.stop()
    #expect(status()?.st_ino == inode)
    await second.stop()
    #expect(status() == nil)
  }

  /// All at once, over a dead one's: the one that won is reachable.
  @Test func ofSeveralThatStartOneListens() async throws {
    leaveDeadSocket()
    let path = path
    let servers = await withTaskGroup(of: Loopback?.self) { group in
      for _ in 0..<8 { group.addTask { try? Loopback(unixPath: path) } }
      return await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
    }
    #expect(servers.count == 1)
    let client = TestClient(try SocketAddress.unix(path: path))
    try await client.connect()
    try await client.expectEcho([1])
  }

  @Test(arguments: [("", "not a path"), ("a\0b", "not a path")]) func pathsThatAreNone(path: String, reason: String) {
    #expect(throws: SocketAddressError(host: path, reason: reason)) { try SocketAddress.unix(path: path) }
  }

  @Test func aPathHas107BytesAtMost() throws {
    let longest = "/" + String(repeating: "a", count: 106)
    #expect(try SocketAddress.unix(path: longest).host == longest)
    let error = #expect(throws: RPCServerError.self) { try Loopback(unixPath: longest + "a") }
    #expect(error?.reason.hasSuffix("a Unix socket's path has at most 107 bytes") == true)
  }

  @Test func aClientIsToldWhenNobodyListens() async throws {
    let client = TestClient(try SocketAddress.unix(path: path))
    client.connection.connect()
    let error = await client.closed()
    #expect(error.code == .unavailable)
  }

  private func status() -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  private func leaveDeadSocket() {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    _ = try? SocketAddress.unix(path: path).withSocketAddress { bind(descriptor, $0, $1) }
    close(descriptor)
  }
}
