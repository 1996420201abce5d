internal import Glibc

/// Runs it on a thread of its own: blocking reads and long work have no place on a pool's.
public func startThread(_ body: @escaping @Sendable () -> Void) {
  var thread = pthread_t()
  let code = pthread_create(
    &thread, nil,
    { work in
      Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
      return nil
    }, Unmanaged.passRetained(Work(body)).toOpaque())
  precondition(code == 0, "no thread: \(String(cString: strerror(code)))")
  pthread_detach(thread)
}

private final class Work: Sendable {
  let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
