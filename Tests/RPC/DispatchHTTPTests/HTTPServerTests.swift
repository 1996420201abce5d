// The server on a real socket: what it answers, and what it does with clients that want too much.

import Dispatch
import DispatchRPC
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchHTTP

@Suite("A server of HTTP")
struct HTTPServerTests {
  /// Its handlers: one answers at once, one from another thread, one never, one with what it was sent.
  private static let router: HTTPRouter = {
    var router = HTTPRouter()
    router.get("/now") { _ in .text(.ok, "now") }
    router.get("/large") { _ in HTTPResponse(body: [UInt8](repeating: 0x61, count: 32 << 20)) }
    router.add("GET", "/later", maximumBodyBytes: 0) { _, exchange in
      DispatchQueue.global().async { exchange.answer(.text(.ok, "later")) }
    }
    router.add("GET", "/dropped", maximumBodyBytes: 0) { _, _ in }
    router.add("POST", "/echo", maximumBodyBytes: 1_000) { request, exchange in
      exchange.answer(HTTPResponse(body: request.body))
      exchange.answer(.text(.serverError))
    }
    return router
  }()

  private struct Served {
    let server: HTTPServer
    let address: SocketAddress

    func peer(from host: String? = nil, receiveBuffer: CInt? = nil) -> RawPeer {
      RawPeer(address, from: host, receiveBuffer: receiveBuffer)
    }

    /// All that a client of its own gets for these bytes, when the server closes.
    func answers(to text: String) async -> String? {
      let peer = peer()
      peer.post(text)
      return await peer.readToEnd()
    }
  }

  /// - Parameter change: sets the times that a test is about. The others are longer than a busy machine takes for one.
  private static func serve(_ change: (inout HTTPServerLimits) -> Void = { _ in }) throws -> Served {
    var configuration = patientConfiguration
    configuration.unixTime = { 0 }
    change(&configuration.limits)
    let server = HTTPServer(configuration)
    let socket = try ListeningSocket(host: "127.0.0.1", port: 0)
    server.add(socket, tls: nil, router: router)
    try server.begin()
    return Served(server: server, address: socket.address)
  }

  private static var patientConfiguration: HTTPServerConfiguration {
    var configuration = HTTPServerConfiguration()
    let long = Duration.seconds(600)
    configuration.limits.handshakeTime = long
    configuration.limits.headTime = long
    configuration.limits.bodyTime = long
    configuration.limits.answerTime = long
    configuration.limits.idleTime = long
    return configuration
  }

  private static func get(_ path: String, _ more: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\(more)\r\n"
  }

  private static let close = "Connection: close\r\n"

  @Test("One connection takes many requests, whose answers keep their order")
  func several() async throws {
    let served = try Self.serve()
    let post = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
    let text = Self.get("/later") + post + Self.get("/dropped") + Self.get("/nowhere") + Self.get("/now", Self.close)
    let answers = try #require(await served.answers(to: text))
    let statuses = answers.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
    #expect(statuses == ["200", "200", "500", "404", "200"])
    #expect(answers.contains("later\n") && answers.contains("\r\n\r\nhello") && answers.hasSuffix("now\n"))
    #expect(answers.components(of: "Connection: close") == 1)
  }

  @Test("A thousand requests sent ahead are answered one after the other")
  func ahead() async throws {
    let served = try Self.serve { $0.requestsPerConnection = 2_000 }
    let text = String(repeating: Self.get("/now"), count: 999) + Self.get("/now", Self.close)
    #expect(await served.answers(to: text)?.components(of: "200 OK") == 1_000)
  }

  @Test("Refused ones, too")
  func refusedAhead() async throws {
    let served = try Self.serve { $0.requestsPerConnection = 2_000 }
    let text = String(repeating: Self.get("/nowhere"), count: 999) + Self.get("/now", Self.close)
    let answers = try #require(await served.answers(to: text))
    #expect(answers.components(of: "HTTP/1.1 404 ") == 999 && answers.hasSuffix("now\n"))
  }

  @Test("An address is served while the event loop of another one is busy")
  func addressesOfTheirOwn() async throws {
    let (isRunning, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    var blocking = HTTPRouter()
    blocking.get("/blocked") { _ in
      isRunning.signal()
      mayEnd.wait()
      return .text(.ok, "blocked")
    }
    let server = HTTPServer(Self.patientConfiguration)
    let (busy, free) = (
      try ListeningSocket(host: "127.0.0.1", port: 0), try ListeningSocket(host: "127.0.0.1", port: 0)
    )
    server.add(busy, tls: nil, router: blocking)
    server.add(free, tls: nil, router: Self.router)
    try server.begin()
    let (slow, quick) = (RawPeer(busy.address), RawPeer(free.address))
    slow.post(Self.get("/blocked", Self.close))
    await withCheckedContinuation { running in
      DispatchQueue.global().async {
        isRunning.wait()
        running.resume()
      }
    }
    quick.post(Self.get("/now", Self.close))
    #expect(await quick.readToEnd()?.hasSuffix("now\n") == true)
    mayEnd.signal()
    #expect(await slow.readToEnd()?.hasSuffix("blocked\n") == true)
  }

  @Test("A connection ends after its last request, and says so")
  func requests() async throws {
    let served = try Self.serve { $0.requestsPerConnection = 3 }
    let answers = await served.answers(to: String(repeating: Self.get("/now"), count: 5))
    #expect(answers?.components(of: "200 OK") == 3 && answers?.components(of: "Connection: close") == 1)
  }

  @Test("A body is asked for if the client waits for that, and a long one is refused unread")
  func bodies() async throws {
    let served = try Self.serve()
    let peer = served.peer()
    let head = "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    peer.post(head + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    let goOn = "HTTP/1.1 100 Continue\r\n\r\n"
    let answer = await peer.answer(to: []) { $0.count >= goOn.utf8.count }
    #expect(String(decoding: answer, as: UTF8.self) == goOn)
    peer.post("hi")
    #expect(await peer.readToEnd()?.hasSuffix("\r\n\r\nhi") == true)

    let refused = await served.answers(to: head + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n")
    #expect(refused?.hasPrefix("HTTP/1.1 413 ") == true && refused?.contains("100 Continue") == false)
    // It is on its way already; the answer comes all the same.
    let large = await served.answers(
      to: head + "Content-Length: 100000\r\n\r\n" + String(repeating: "x", count: 100_000))
    #expect(large?.hasPrefix("HTTP/1.1 413 ") == true)
    // A path without a body takes none.
    let unwanted = await served.answers(to: Self.get("/now", "Content-Length: 1\r\n") + "x" + Self.get("/now"))
    #expect(unwanted?.components(of: "HTTP/1.1 ") == 1 && unwanted?.hasPrefix("HTTP/1.1 413 ") == true)
  }

  @Test("Methods that a path lacks are named; HEAD has no body")
  func methods() async throws {
    let served = try Self.serve()
    let put = await served.answers(to: "PUT /now HTTP/1.1\r\nHost: a\r\n\(Self.close)\r\n")
    #expect(put?.hasPrefix("HTTP/1.1 405 ") == true && put?.contains("\r\nAllow: GET, HEAD\r\n") == true)
    let head = await served.answers(to: "HEAD /now HTTP/1.1\r\nHost: a\r\n\(Self.close)\r\n")
    #expect(head?.contains("\r\nContent-Length: 4\r\n") == true && head?.hasSuffix("\r\n\r\n") == true)
  }

  @Test("What is no HTTP is refused at once, and a peer that leaves in the middle is forgotten")
  func noise() async throws {
    let served = try Self.serve { $0.connections = 2 }
    for noise in ["\u{16}\u{3}\u{1}\u{2}\u{0}", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\n", "GET / HTTP/1.1\r\n\r\n"] {
      #expect(await served.answers(to: noise)?.hasPrefix("HTTP/1.1 ") == true, "\(noise.debugDescription)")
    }
    for _ in 0..<20 { served.peer().post("GET /later HTTP/1.1\r\nHost: a\r\n") }
    #expect(await served.answers(to: Self.get("/now", Self.close))?.hasSuffix("now\n") == true)
  }

  // MARK: Time

  @Test("A head that comes too slowly is refused, however its bytes are spread, and so is a body")
  func slow() async throws {
    let served = try Self.serve {
      $0.headTime = .milliseconds(300)
      $0.bodyTime = .milliseconds(300)
    }
    // Faster than any idle time, and far too slow.
    let dripping = served.peer()
    var head = Self.get("/now", "Cookie: \(String(repeating: "x", count: 40))\r\n")
    // At once, because a connection without a byte ends without an answer, and a busy machine may begin the task late.
    dripping.post(String(head.removeFirst()))
    let drip = Task { [head] in
      for byte in head {
        dripping.post(String(byte))
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    let answer = await dripping.readToEnd()
    drip.cancel()
    #expect(answer?.hasPrefix("HTTP/1.1 408 ") == true, "\(answer ?? "no end")")
    #expect(
      await served.answers(to: "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx")?.hasPrefix(
        "HTTP/1.1 408 ") == true)
    #expect(await served.answers(to: "") == "")
  }

  @Test("A connection without requests ends after the idle time")
  func idle() async throws {
    let served = try Self.serve { $0.idleTime = .milliseconds(100) }
    #expect(await served.answers(to: Self.get("/now"))?.hasSuffix("now\n") == true)
  }

  @Test("A client that does not take its answer is left, and others are answered meanwhile")
  func unread() async throws {
    let served = try Self.serve { $0.answerTime = .milliseconds(300) }
    let hoarder = served.peer(receiveBuffer: 4_096)
    hoarder.post(Self.get("/large"))
    #expect(await served.answers(to: Self.get("/now", Self.close))?.hasSuffix("now\n") == true)
    // Nothing but its reading would show that the server has left it, and it must not read.
    try await Task.sleep(for: .milliseconds(400))
    let taken = try #require(await hoarder.readToEnd())
    #expect(taken.utf8.count < 32 << 20)
  }

  // MARK: Floods

  @Test("The oldest connection of one client makes room for its next, and no other client's does")
  func flood() async throws {
    let served = try Self.serve { $0.connectionsPerClient = 4 }
    let neighbour = served.peer(from: "127.0.0.2")
    neighbour.post("GET /now HTTP/1.1\r\n")
    let first = served.peer()
    let others = (0..<20).map { _ in served.peer() }
    #expect(await first.readToEnd() == "")
    for pushedOut in others.prefix(16) { #expect(await pushedOut.readToEnd() == "") }
    neighbour.post("Host: a\r\n\(Self.close)\r\n")
    #expect(await neighbour.readToEnd()?.hasSuffix("now\n") == true)
    others[19].post(Self.get("/now", Self.close))
    #expect(await others[19].readToEnd()?.hasSuffix("now\n") == true)
  }

  @Test("At the limit of all connections the oldest makes room")
  func full() async throws {
    let served = try Self.serve { $0.connections = 3 }
    let peers = (1...4).map { served.peer(from: "127.0.0.\($0)") }
    #expect(await peers[0].readToEnd() == "")
    peers[3].post(Self.get("/now", Self.close))
    #expect(await peers[3].readToEnd()?.hasSuffix("now\n") == true)
  }

  // MARK: The end

  /// A server whose requests for /held wait until a test answers them.
  ///
  /// - Parameter begin: runs on the event loop before.
  private static func serveHeld(
    _ begin: @escaping @Sendable (HTTPExchange) -> Void = { _ in }
  ) throws -> (HTTPServer, ListeningSocket, Box<HTTPExchange>) {
    let held = Box<HTTPExchange>()
    var router = HTTPRouter()
    router.add("GET", "/held", maximumBodyBytes: 0) { _, exchange in
      begin(exchange)
      held.put(exchange)
    }
    let server = HTTPServer(Self.patientConfiguration)
    let socket = try ListeningSocket(host: .ownLoopbackHost(), port: 0)
    server.add(socket, tls: nil, router: router)
    try server.begin()
    return (server, socket, held)
  }

  @Test("A server that shuts down answers what runs, closes what waits, and takes its port back")
  func shutDown() async throws {
    let (server, socket, held) = try Self.serveHeld()
    let (waiting, running) = (RawPeer(socket.address), RawPeer(socket.address))
    running.post(Self.get("/held"))
    let exchange = await held.next()
    let (ended, end) = AsyncStream<Void>.makeStream()
    server.shutDown(grace: .seconds(20)) { end.finish() }
    #expect(await waiting.readToEnd() == "")
    exchange.answer(.text(.ok, "held"))
    let answer = await running.readToEnd()
    #expect(answer?.contains("Connection: close") == true && answer?.hasSuffix("held\n") == true)
    for await _ in ended {}
    let again = try ListeningSocket(host: socket.address.host, port: socket.address.port)
    #expect(again.address == socket.address)
  }

  @Test("A handler that does not answer holds up the end for the grace alone")
  func grace() async throws {
    let (server, socket, held) = try Self.serveHeld()
    let peer = RawPeer(socket.address)
    peer.post(Self.get("/held"))
    let exchange = await held.next()
    let (ended, end) = AsyncStream<Void>.makeStream()
    server.shutDown(grace: .milliseconds(50)) { end.finish() }
    for await _ in ended {}
    #expect(await peer.readToEnd() == "")
    exchange.answer(.text(.ok))
  }
}

/// The answers of handlers that a deadline or a client does not wait for.
extension HTTPServerTests {
  @Test("A handler's deadline answers for it, once, and the connection goes on")
  func deadline() async throws {
    let (server, socket, held) = try Self.serveHeld { exchange in
      exchange.answer(at: exchange.loop.now.advanced(by: .milliseconds(50))) { .text(.ok, "late") }
    }
    let peer = RawPeer(socket.address)
    peer.post(Self.get("/held") + Self.get("/nowhere", Self.close))
    let exchange = await held.next()
    let answers = try #require(await peer.readToEnd())
    #expect(answers.components(of: "late\n") == 1 && answers.contains("HTTP/1.1 404 "))
    #expect(exchange.isOver)
    exchange.answer(.text(.serverError))
    withExtendedLifetime(server) {}
  }

  @Test("An answer before the deadline is the only one")
  func inTime() async throws {
    let (server, socket, held) = try Self.serveHeld { exchange in
      exchange.answer(at: exchange.loop.now.advanced(by: .seconds(60))) { .text(.ok, "late") }
    }
    let peer = RawPeer(socket.address)
    peer.post(Self.get("/held", Self.close))
    await held.next().answer { .text(.ok, "in time") }
    let answer = try #require(await peer.readToEnd())
    #expect(answer.components(of: "HTTP/1.1 ") == 1 && answer.hasSuffix("in time\n"))
    withExtendedLifetime(server) {}
  }

  @Test("A handler can see that its client is gone")
  func clientLeft() async throws {
    let (server, socket, held) = try Self.serveHeld()
    let exchange: HTTPExchange
    do {
      let peer = RawPeer(socket.address)
      peer.post(Self.get("/held"))
      exchange = await held.next()
      #expect(!exchange.isOver)
    }
    server.shutDown(grace: .milliseconds(1)) {}
    try await eventually { exchange.isOver }
  }

  @Test("A caller's connections are no strangers' any more, and keep their places")
  func admitted() async throws {
    let held = Box<HTTPExchange>()
    var router = HTTPRouter()
    router.add("GET", "/held", maximumBodyBytes: 0) { _, exchange in
      exchange.admitted(of: "shop")
      exchange.answer(.text(.ok, "held"))
      held.put(exchange)
    }
    var configuration = Self.patientConfiguration
    configuration.limits.connectionsPerClient = 2
    let server = HTTPServer(configuration)
    let socket = try ListeningSocket(host: .ownLoopbackHost(), port: 0)
    server.add(socket, tls: nil, router: router)
    try server.begin()
    var peers: [RawPeer] = []
    for _ in 0..<6 {
      let peer = RawPeer(socket.address)
      peer.post(Self.get("/held"))
      _ = await held.next()
      peers.append(peer)
    }
    for peer in peers {
      peer.post(Self.get("/held", Self.close))
      #expect(await peer.readToEnd()?.components(of: "held\n") == 2)
    }
    withExtendedLifetime(server) {}
  }

  @Test("A route may take chunks, and say how it refuses a body that is too long")
  func tooLarge() async throws {
    var router = HTTPRouter()
    router.add("POST", "/a", maximumBodyBytes: 1, takesChunks: true, tooLarge: .text(.tooManyRequests, "no")) {
      $1.answer(HTTPResponse(body: $0.body))
    }
    router.add("POST", "/b", maximumBodyBytes: 1) { $1.answer(.text(.ok)) }
    let server = HTTPServer(Self.patientConfiguration)
    let socket = try ListeningSocket(host: .ownLoopbackHost(), port: 0)
    server.add(socket, tls: nil, router: router)
    try server.begin()
    let chunked = "Transfer-Encoding: chunked\r\n\r\n"
    for (request, status, end) in [
      ("/a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab", "429", "no\n"),
      ("/a HTTP/1.1\r\nHost: a\r\n\(chunked)2\r\nab\r\n0\r\n\r\n", "429", "no\n"),
      ("/a HTTP/1.1\r\nHost: a\r\n\(Self.close)\(chunked)1\r\nz\r\n0\r\n\r\n", "200", "\r\n\r\nz"),
      ("/a HTTP/1.1\r\nHost: a\r\n\(chunked)1;\r\nz\r\n0\r\n\r\n", "400", "a chunk is malformed\n"),
      ("/b HTTP/1.1\r\nHost: a\r\n\(chunked)0\r\n\r\n", "411", "Content-Length\n"),
    ] {
      let peer = RawPeer(socket.address)
      peer.post("POST \(request)")
      let answer = try #require(await peer.readToEnd())
      #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.hasSuffix(end), "\(answer)")
    }
    withExtendedLifetime(server) {}
  }
}

extension String {
  fileprivate func components(of text: String) -> Int {
    split(separator: text, omittingEmptySubsequences: false).count - 1
  }
}

extension RawPeer {
  fileprivate func post(_ text: String) {
    post(Array(text.utf8))
  }

  /// Returns the text that came until the server closed; `nil` if it did not close. A reset ends it, too.
  fileprivate func readToEnd() async -> String? {
    await exchange([]).map { String(decoding: $0, as: UTF8.self) }
  }
}
