// Lets the main thread wait for a store, before the service runs.

internal import Dispatch
package import Logging
internal import Synchronization
package import TouchstoneStore

/// Enough for a database that starts at the same time. A longer failure needs an operator.
private let startPatience = Duration.seconds(10)
private let retryInterval = Duration.milliseconds(250)

/// Waits for one operation on the database at the beginning of a process. Retries for some seconds while the database
/// is unreachable.
package func withDatabase<Value: Sendable>(
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

/// Waits for the answer of a store's call that a start needs.
package func answer<Value: Sendable>(of call: StoreCall<Value>) throws(Failure) -> Value {
  // A start does one thing after the other, so it may block.
  switch blockingAnswer(of: call) {
  case .success(let value): return value
  case .failure(let error):
    throw Failure(kind: error.code == .corrupt ? .corruptData : .unavailable, message: error.message)
  }
}

/// Blocks the main thread, while nothing else runs.
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
