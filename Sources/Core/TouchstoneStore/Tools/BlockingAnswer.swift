internal import Dispatch
internal import Synchronization

/// Returns a store's answer. Blocks the thread: use one on which no other work waits.
package func blockingAnswer<Value: Sendable>(
  of call: (@escaping @Sendable (Result<Value, StoreError>) -> Void) -> Void
) -> Result<Value, StoreError> {
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
