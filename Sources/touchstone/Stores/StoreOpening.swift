// From what is configured to a store that serves.

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

extension ProcessConfiguration {
  /// Where it refuses, nothing was changed.
  func openStore(logger: Logger) throws(Failure) -> any Store {
    switch store {
    case .sqlite:
      do throws(StoreOpenError) {
        var options = SQLiteStoreOptions()
        if let standIns = limits.standIns { options.maximumStandIns = standIns }
        return try SQLiteStore.open(directory: dataDirectory, options: options)
      } catch {
        throw Failure(error)
      }
    case .postgresql(let address):
      var options = PostgresStoreOptions()
      if let standIns = limits.standIns { options.maximumStandIns = standIns }
      return try withDatabase(logger) { [options] () throws(StoreOpenError) in
        try await PostgresStore.open(uri: address.uri, options: options)
      }
    }
  }
}

extension Store {
  /// How many commits shared an fsync, where it is this process that made them.
  func logWhatWasWritten(_ logger: Logger) {
    guard let written = (self as? SQLiteStore)?.statistics else { return }
    logger.notice("closed the store", metadata: ["commits": "\(written.commits)", "fsyncs": "\(written.transactions)"])
  }
}

/// A database that is started beside the service is there by then; what is wrong for longer is somebody's to mend.
private let startPatience = Duration.seconds(10)
private let retryInterval = Duration.milliseconds(250)

/// Waits for what is done with a database once, at the beginning of a process, which has nothing else to do. A database that
/// is out of reach is asked again for some seconds.
func withDatabase<Value: Sendable>(
  _ logger: Logger, _ body: @escaping @Sendable () async throws(StoreOpenError) -> Value
) throws(Failure) -> Value {
  let deadline = ContinuousClock.now + startPatience
  var isFirst = true
  while true {
    do throws(StoreOpenError) {
      return try waiting(for: body)
    } catch {
      guard error.code == .unreachable, ContinuousClock.now < deadline else { throw Failure(error) }
      if isFirst { logger.warning("waiting for the database", metadata: ["error": "\(error.message)"]) }
      isFirst = false
      try? waiting { () throws(CancellationError) in try? await Task.sleep(for: retryInterval) }
    }
  }
}

/// Of a store's call that a start rests on.
func answer<Value: Sendable>(
  of call: (@escaping @Sendable (Result<Value, StoreError>) -> Void) -> Void
) throws(Failure) -> Value {
  // Starting is one thing after the other, so it may block.
  switch blockingAnswer(of: call) {
  case .success(let value): return value
  case .failure(let error):
    throw Failure(status: error.code == .corrupt ? .corruptData : .unavailable, message: error.message)
  }
}

/// Blocks the thread: the main one's, while nothing else runs.
private func waiting<Value: Sendable, Failure: Error>(
  for body: @escaping @Sendable () async throws(Failure) -> Value
) throws(Failure) -> Value {
  let done = DispatchSemaphore(value: 0)
  let result = Mutex<Result<Value, Failure>?>(nil)
  Task.detached {
    do throws(Failure) {
      let value = try await body()
      result.withLock { $0 = .success(value) }
    } catch {
      result.withLock { $0 = .failure(error) }
    }
    done.signal()
  }
  done.wait()
  guard let result = result.withLock({ $0 }) else { preconditionFailure("signalled without a result") }
  return try result.get()
}
