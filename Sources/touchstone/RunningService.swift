// The whole service, wired and running in this process. `serve` and `demo` both start it here.

internal import Dispatch
internal import DispatchRPC
internal import Glibc
internal import Logging
internal import TouchstoneCrypto
internal import TouchstoneService
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

/// The store, the keys, the handlers and the RPC server of one process.
final class RunningService: Sendable {
  let address: SocketAddress
  private let server: RPCServer
  private let store: SQLiteStore
  private let sweeper: Sweeper

  /// Opens the store first: it takes the lock on the data directory, and where it refuses, nothing was changed.
  static func start(_ configuration: ProcessConfiguration, logger: Logger) throws(Failure) -> RunningService {
    let endpoint = try Endpoint(parsing: configuration.listen)
    let cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let shards = configuration.shards == 0 ? cores : configuration.shards
    let store = try openStore(configuration.dataDirectory)
    let keys = try loadKeys(configuration.dataDirectory)
    let service = TouchstoneService(
      configuration: configuration.service, store: store, keys: keys, shardCount: shards, cores: cores, logger: logger,
      clock: systemTime)
    var serverConfiguration = RPCServerConfiguration()
    serverConfiguration.shards = shards
    serverConfiguration.maxRequestMessageBytes = maximumRequestBytes
    let server = RPCServer(configuration: serverConfiguration, router: service.router) { service.wakeUpEnded(on: $0) }
    do throws(RPCServerError) {
      let address = try server.listen(host: endpoint.host, port: endpoint.port)
      return RunningService(address: address, server: server, store: store, logger: logger)
    } catch {
      throw Failure(status: .cannotListen, message: "cannot listen on \(configuration.listen): \(error.reason)")
    }
  }

  /// The largest message of the protos, a passkey assertion with its client data, stays far below.
  private static let maximumRequestBytes = 64 << 10

  private init(address: SocketAddress, server: RPCServer, store: SQLiteStore, logger: Logger) {
    self.address = address
    self.server = server
    self.store = store
    self.sweeper = Sweeper(store: store, logger: logger)
  }

  /// Refuses new calls, lets the running ones finish, then closes the store.
  func stop(grace: Duration, completion: @escaping @Sendable () -> Void) {
    sweeper.cancel()
    server.shutDown(grace: grace) { [store] in store.close(completion: completion) }
  }

  private static func openStore(_ directory: String) throws(Failure) -> SQLiteStore {
    do throws(StoreOpenError) {
      return try SQLiteStore.open(directory: directory)
    } catch {
      throw Failure(error)
    }
  }

  private static func loadKeys(_ directory: String) throws(Failure) -> KeyRing {
    do throws(KeyRingError) {
      return try KeyRing.loadOrCreate(directory: directory + "/keys")
    } catch {
      throw Failure(status: .unusableKeys, message: error.description)
    }
  }
}

/// Drops what expired, in small steps, now and then.
private final class Sweeper: Sendable {
  /// Often enough that a minute's worth of expired rows is the most that waits; a step holds the writer for milliseconds.
  private static let interval = DispatchTimeInterval.seconds(5)

  /// The guard of the timer is the queue; cancelling is safe from anywhere.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  init(store: SQLiteStore, logger: Logger) {
    let queue = DispatchQueue(label: "touchstone.sweeper")
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval)
    timer.setEventHandler { Self.sweep(store, logger) }
    timer.activate()
  }

  func cancel() {
    timer.cancel()
  }

  private static func sweep(_ store: SQLiteStore, _ logger: Logger) {
    store.sweep(before: systemTime()) { result in
      switch result {
      case .success(let step):
        if step.hasMore { sweep(store, logger) }
      case .failure(let error):
        logger.warning("sweeping failed", metadata: ["error": "\(error.message)"])
      }
    }
  }
}
