// The events that an observer receives of a server's calls.

import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite("A server's observer", .mustEnd)
struct ServerObserverTests {
  /// Puts what it receives where the test awaits it.
  private final class Witness: RPCServerObserver {
    private let began: Box<Int?>
    private let ended: Box<RPCEndedCall>

    init(_ began: Box<Int?>, _ ended: Box<RPCEndedCall>) {
      (self.began, self.ended) = (began, ended)
    }

    func callBegan(_ method: Int?) { began.put(method) }
    func callEnded(_ call: RPCEndedCall) { ended.put(call) }
  }

  private let began = Box<Int?>()
  private let ended = Box<RPCEndedCall>()

  private var configuration: RPCServerConfiguration {
    .with { $0.observer = { [began, ended] _ in Witness(began, ended) } }
  }

  // The places of `Loopback`'s methods.
  private static let (echo, fail, hold) = (0, 2, 3)

  /// The next call that ended.
  private func end(of method: Int?, _ code: RPCCode) async -> RPCEndedCall {
    #expect(await began.next() == method)
    let call = await ended.next()
    #expect(call.method == method)
    #expect(call.code == code)
    #expect(call.nanoseconds >= 0)
    return call
  }

  @Test("Unary calls: the method, the status, the bytes of the messages")
  func unary() async throws {
    let loopback = try Loopback(configuration)
    #expect(loopback.server.connectionCount == 0)
    let client = try await loopback.connect()
    #expect(loopback.server.connectionCount == 1)
    try await client.expectEcho(Array(repeating: 7, count: 100))
    let answered = await end(of: Self.echo, .ok)
    #expect(answered.receivedBytes == 100 && answered.sentBytes == 100)
    #expect(answered.nanoseconds > 0)

    _ = await client.failure("Fail", [1, 2, 3])
    let failed = await end(of: Self.fail, .failedPrecondition)
    #expect(failed.receivedBytes == 3 && failed.sentBytes == 0)
  }

  @Test("A compressed message counts as many bytes as it has on the wire")
  func compressed() async throws {
    let loopback = try Loopback(configuration)
    let message = gzipped(Array(repeating: 7, count: 10_000))
    let head = Frame.headers(1, Frame.call("/test/Echo") + [("grpc-encoding", "gzip")])
    let prefix = [1] + withUnsafeBytes(of: UInt32(message.count).bigEndian) { Array($0) }
    RawPeer(loopback.address).post(Frame.preface + head.bytes + Frame.data(1, prefix + message, flags: 1).bytes)
    let call = await end(of: Self.echo, .ok)
    #expect(call.receivedBytes == message.count)
    #expect(call.sentBytes == 10_000)
  }

  @Test("Unknown methods are no method, whatever their name")
  func unknown() async throws {
    let client = try await Loopback(configuration).connect()
    for name in ["Secret-4711", "Echo/"] {
      #expect(await client.code(of: name) == .unimplemented)
      _ = await end(of: nil, .unimplemented)
    }
  }

  @Test("A call that its client cancels ends once, as cancelled")
  func cancelled() async throws {
    let loopback = try Loopback(configuration)
    let client = try await loopback.connect()
    let call = client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { _ in }
    let held = await loopback.held.next()
    call.cancel()
    _ = await loopback.cancellations.next()
    held.respond([1])
    _ = await end(of: Self.hold, .cancelled)
    try await client.expectEcho([1])
    _ = await end(of: Self.echo, .ok)
    #expect(ended.count == 0)
  }

  @Test("A call whose connection is lost ends as cancelled, and one whose deadline passes with its status")
  func lost() async throws {
    let loopback = try Loopback(configuration)
    let peer = RawPeer(loopback.address)
    let head = Frame.call("/test/Hold") + [("grpc-timeout", "50m")]
    _ = await peer.exchange(
      Frame.preface + Frame.headers(1, head).bytes + Frame.data(1, [0, 0, 0, 0, 0], flags: Frame.endStream).bytes
    ) { $0.contains { $0.ends(1) } }
    _ = await end(of: Self.hold, .deadlineExceeded)

    let client = try await loopback.connect()
    _ = client.connection.start(RPCClientRequest(path: "/test/Hold", message: [])) { _ in }
    _ = await loopback.held.next()
    _ = await loopback.held.next()
    await loopback.stop(grace: .zero)
    _ = await end(of: Self.hold, .cancelled)
  }

  @Test("What is no gRPC call is no call")
  func otherProtocols() async throws {
    let loopback = try Loopback(configuration)
    let fields = Frame.call("/test/Echo").map { $0.0 == "content-type" ? ($0.0, "text/html") : $0 }
    let frames = await RawPeer(loopback.address).exchange(
      Frame.preface + Frame.headers(1, fields, flags: Frame.endHeaders | Frame.endStream).bytes
    ) { $0.contains { $0.stream == 1 } }
    #expect(frames.contains { $0.stream == 1 })
    try await loopback.connect().expectEcho([1])
    _ = await end(of: Self.echo, .ok)
    #expect(began.count == 0 && ended.count == 0)
  }

  @Test("Streams: the bytes of all messages in both directions, without their prefixes")
  func streams() async throws {
    let loopback = try Loopback(configuration)
    let client = try await loopback.connect()
    let total = client.open("Total")
    for size in [10, 20, 30] { total.stream.send(Array(repeating: 1, count: size)) }
    total.stream.finishSending()
    #expect(await total.rest().messages == [Array("60".utf8)])
    _ = await began.next()
    let summed = await ended.next()
    #expect(summed.code == .ok && summed.receivedBytes == 60 && summed.sentBytes == 2)

    let count = client.open("Count")
    count.stream.send([1, 2, 3, 4])
    count.stream.finishSending()
    #expect(await count.rest().messages.count == 4)
    let counted = await ended.next()
    #expect(counted.code == .ok && counted.receivedBytes == 4 && counted.sentBytes == 4)
  }
}
