import Glibc
import Synchronization

/// A server's share of one event loop. The connections of one event loop and what they share. Confined to the event
/// loop, but for what counts running calls.
final class ServerLoop: ConnectionKeeper {
  let loop: EventLoop
  let configuration: RPCServerConfiguration
  let routes: RouteTable
  /// The whole server's.
  let register: ConnectionRegister
  let observer: (any RPCServerObserver)?
  /// Handlers that have not answered.
  let runningCalls = Atomic<Int>(0)
  /// Running calls that have several messages, and may wait for as long as they like.
  let runningStreams = Atomic<Int>(0)
  var streams = ServerStreamPool()
  var shedder: LoadShedder?
  var runningLimit: RunningCallLimit?
  /// The round has taken up calls, and its end is to be noted.
  var roundEndIsDue = false
  /// Made once: refusing has to be cheap.
  var overloadAnswer: HeaderBlock
  /// The sum over all connections.
  private var buffered = BufferedBytes()

  private var connections: [ConnectionSlots.ID: ServerConnection] = [:]
  private var isStopping = false
  private var isShedding = false
  private var onEmpty: [@Sendable () -> Void] = []

  init(
    loop: EventLoop, configuration: RPCServerConfiguration, routes: RouteTable, register: ConnectionRegister
  ) {
    self.loop = loop
    self.configuration = configuration
    self.routes = routes
    self.register = register
    observer = configuration.observer?(loop.index)
    shedder = configuration.shedding.map(LoadShedder.init)
    runningLimit = Self.runningLimit(configuration)
    overloadAnswer = Self.overloadAnswer(configuration)
  }

  func serve(_ descriptor: Int32, _ id: ConnectionSlots.ID, from address: SocketAddress, tls: RPCServerTLS?) {
    // It may have had to make room on its way here.
    guard register.holds(id), let transport = makeTransport(descriptor, tls, .http2) else {
      close(descriptor)
      register.closed(id)
      return
    }
    let connection = ServerConnection(id: id, server: self, transport: transport, peer: RPCPeer(address: address))
    guard !isStopping, connection.start() else {
      connection.transport.close()
      register.closed(id)
      return
    }
    connections[id] = connection
  }

  func evict(_ id: ConnectionSlots.ID) {
    connections[id]?.evict()
  }

  func connectionClosed(_ connection: ServerConnection) {
    guard connections.removeValue(forKey: connection.id) != nil else { return }
    register.closed(connection.id)
    reportIfEmpty()
  }

  func metadataBytesChanged(by count: Int) {
    buffered.metadata += count
    if count > 0 { shedIfNeeded() }
  }

  func requestBytesChanged(by count: Int) {
    buffered.requests += count
    if count > 0 { shedIfNeeded() }
  }

  func responseBytesChanged(by count: Int) {
    buffered.responses += count
    if count > 0 { shedIfNeeded() }
  }

  /// Verified in one go: each takes some 100 µs, and calls wait meanwhile.
  private static let certificatesPerTurn = 8

  /// After the authorities changed.
  func reviewCertificates() {
    reviewCertificates(of: Array(connections.keys)[...])
  }

  private func reviewCertificates(of ids: ArraySlice<ConnectionSlots.ID>) {
    for id in ids.prefix(Self.certificatesPerTurn) { connections[id]?.reviewCertificate() }
    let rest = ids.dropFirst(Self.certificatesPerTurn)
    guard !rest.isEmpty else { return }
    LoopConfined(self, on: loop).execute { $0.reviewCertificates(of: rest) }
  }

  /// Asks all connections to leave; `completion` runs when they have.
  func drain(completion: @escaping @Sendable () -> Void) {
    isStopping = true
    onEmpty.append(completion)
    for connection in connections.values { connection.drain() }
    reportIfEmpty()
  }

  /// Ends what is left, and its calls with it.
  func closeAll() {
    isStopping = true
    for connection in connections.values { connection.close("the server stopped") }
  }

  /// As `closeAll`, when the grace is over; sooner if no connection is left.
  func closeAll(after grace: Duration) {
    for connection in connections.values { connection.close(after: grace) }
  }

  private var holdsTooManyRequests: Bool {
    buffered.received > configuration.maxBufferedRequestBytesPerLoop
  }

  private var holdsTooManyResponses: Bool {
    buffered.responses > configuration.maxBufferedResponseBytesPerLoop
  }

  /// Closes the connections that hold most, rather than refuse the next one: hoarders must not shut the others out.
  /// Later, as the caller may be in the midst of the very connection.
  private func shedIfNeeded() {
    guard !isShedding, holdsTooManyRequests || holdsTooManyResponses else { return }
    isShedding = true
    LoopConfined(self, on: loop).execute { $0.shed() }
  }

  private func shed() {
    isShedding = false
    closeLargest(by: { $0.buffered.received }, while: { holdsTooManyRequests })
    closeLargest(by: { $0.buffered.responses }, while: { holdsTooManyResponses })
  }

  private func closeLargest(by size: (ServerConnection) -> Int, while isTooMuch: () -> Bool) {
    while isTooMuch(), let largest = connections.values.max(by: { size($0) < size($1) }), size(largest) > 0 {
      largest.close("it holds the most of the server's memory")
    }
  }

  private func reportIfEmpty() {
    guard connections.isEmpty else { return }
    let completions = onEmpty
    onEmpty = []
    for completion in completions { completion() }
  }
}

/// Memory that the server holds for its clients: counted for each connection, and for all of an event loop.
struct BufferedBytes {
  /// Metadata of calls that no handler has yet.
  var metadata = 0
  /// Requests received in part, or whole and waiting, and messages that their handlers have not asked for.
  var requests = 0
  /// Answers that the clients have not taken.
  var responses = 0

  /// All that came from clients.
  var received: Int { metadata + requests }
}
