// A store's answer, for a task that waits for it, or for a thread that may block.

internal import Dispatch
internal import Synchronization

/// Calls the store with this completion.
package typealias StoreCall<Value> =
  (_ completion: @escaping @Sendable (Result<Value, StoreError>) -> Void) -> Void

/// Waits for what the store hands to a completion.
///
/// The continuation is unsafe only in that a completion must run at most once, which `Store` promises. The store of a
/// process that ends runs none.
package func storeResult<Value: Sendable>(of call: StoreCall<Value>) async -> Result<Value, StoreError> {
  await withUnsafeContinuation { continuation in call { continuation.resume(returning: $0) } }
}

/// Blocks the thread: use one on which no other work waits.
package func blockingAnswer<Value: Sendable>(of call: StoreCall<Value>) -> Result<Value, StoreError> {
  let answered = DispatchSemaphore(value: 0)
  let answer = Mutex<Result<Value, StoreError>?>(nil)
  call { result in
    answer.withLock { $0 = result }
    answered.signal()
  }
  answered.wait()
  guard let answer = answer.withLock({ $0 }) else { preconditionFailure("signalled without an answer") }
  return answer
}
