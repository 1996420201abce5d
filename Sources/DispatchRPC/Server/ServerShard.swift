// What a server keeps on one of its shards.

import Glibc
import Synchronization

/// The connections of one shard and what they share. Confined to the shard, but for what counts running calls.
final class ServerShard {
  let shard: RPCShard
  let configuration: RPCServerConfiguration
  let routes: RouteTable
  /// Of the whole server.
  let register: ConnectionRegister
  /// Handlers that have not answered.
  let runningCalls = Atomic<Int>(0)
  /// Those of them that have several messages, and may wait for as long as they like.
  let runningStreams = Atomic<Int>(0)
  var streams = ServerStreamPool()
  var shedder: LoadShedder?
  var runningLimit: RunningCallLimit?
  /// The round has taken up calls, and its end is to be noted.
  var roundEndIsDue = false
  /// Made once: refusing has to be cheap.
  var overloadAnswer: HeaderBlock
  /// Requests received in part, or whole and waiting, with their metadata.
  private var bufferedRequestBytes = 0
  /// Answers that the clients have not taken.
  private var bufferedResponseBytes = 0

  private var connections: [ConnectionSlots.ID: ServerConnection] = [:]
  private var isStopping = false
  private var isShedding = false
  private var onEmpty: [@Sendable () -> Void] = []

  init(
    shard: RPCShard, configuration: RPCServerConfiguration, routes: RouteTable, register: ConnectionRegister
  ) {
    self.shard = shard
    self.configuration = configuration
    self.routes = routes
    self.register = register
    shedder = configuration.shedding.map(LoadShedder.init)
    runningLimit = Self.runningLimit(configuration)
    overloadAnswer = Self.overloadAnswer(configuration)
  }

  /// Takes over an accepted descriptor, which has a place already.
  func serve(_ descriptor: Int32, _ id: ConnectionSlots.ID, from address: SocketAddress, tls: RPCServerTLS?) {
    // It may have had to make room on its way here.
    guard register.holds(id), let transport = transport(descriptor, tls) else {
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

  /// Its place is another's now.
  func evict(_ id: ConnectionSlots.ID) {
    connections[id]?.evict()
  }

  /// `nil` when there is no memory.
  private func transport(_ descriptor: Int32, _ tls: RPCServerTLS?) -> (any Transport)? {
    guard let tls else { return SocketTransport(descriptor: descriptor) }
    return tls.accept(descriptor)
  }

  func connectionClosed(_ connection: ServerConnection) {
    guard connections.removeValue(forKey: connection.id) != nil else { return }
    register.closed(connection.id)
    reportIfEmpty()
  }

  func requestBytesChanged(by count: Int) {
    bufferedRequestBytes += count
    shedIfNeeded()
  }

  func responseBytesChanged(by count: Int) {
    bufferedResponseBytes += count
    shedIfNeeded()
  }

  /// Verified in one go: each takes some 100 µs, and calls wait meanwhile.
  private static let certificatesPerTurn = 8

  /// The authorities are other ones.
  func reviewCertificates() {
    reviewCertificates(of: Array(connections.keys)[...])
  }

  private func reviewCertificates(of ids: ArraySlice<ConnectionSlots.ID>) {
    for id in ids.prefix(Self.certificatesPerTurn) { connections[id]?.reviewCertificate() }
    let rest = ids.dropFirst(Self.certificatesPerTurn)
    guard !rest.isEmpty else { return }
    let confined = ShardConfined(self)
    shard.execute { confined.value.reviewCertificates(of: rest) }
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

  /// As `closeAll`, when the grace is over; sooner if nobody is left.
  func closeAll(after grace: Duration) {
    for connection in connections.values { connection.close(after: grace) }
  }

  private var holdsTooManyRequests: Bool {
    bufferedRequestBytes > configuration.maxBufferedRequestBytesPerShard
  }

  private var holdsTooManyResponses: Bool {
    bufferedResponseBytes > configuration.maxBufferedResponseBytesPerShard
  }

  /// Closes those that hold most rather than refuse whoever comes next: hoarders must not shut the others out. Later, as
  /// the caller may be in the midst of the very connection.
  private func shedIfNeeded() {
    guard !isShedding, holdsTooManyRequests || holdsTooManyResponses else { return }
    isShedding = true
    let confined = ShardConfined(self)
    shard.execute { confined.value.shed() }
  }

  private func shed() {
    isShedding = false
    closeLargest(by: { $0.bufferedRequestBytes + $0.bufferedMetadataBytes }, while: { holdsTooManyRequests })
    closeLargest(by: { $0.bufferedResponseBytes }, while: { holdsTooManyResponses })
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

/// The connections of a server, over all shards.
final class ConnectionRegister: Sendable {
  private let slots: Mutex<ConnectionSlots>

  init(limit: Int, strangersPerAddress: Int) {
    slots = Mutex(ConnectionSlots(limit: limit, strangersPerAddress: strangersPerAddress))
  }

  convenience init(_ configuration: RPCServerConfiguration) {
    self.init(limit: configuration.maxConnections, strangersPerAddress: configuration.strangersPerAddress)
  }

  func arrived(from address: SocketAddress, keeper: Int) -> ConnectionSlots.OnArrival {
    slots.withLock { $0.arrived(from: address.isUnix ? nil : address, keeper: keeper) }
  }

  func holds(_ id: ConnectionSlots.ID) -> Bool { slots.withLock { $0.holds(id) } }

  func callAdmitted(_ id: ConnectionSlots.ID) {
    slots.withLock { $0.callAdmitted(id) }
  }

  func closed(_ id: ConnectionSlots.ID) {
    slots.withLock { $0.closed(id) }
  }
}
