/// Why a request got no lease. In every case nothing was sent anywhere.
public enum PoolError: Error, Sendable, Hashable {
  /// Its deadline came first. `lastFailure`: why the last attempt to connect failed, if nothing is connected.
  case timedOut(lastFailure: String?)
  /// Nothing is connected, the next attempt is some time away, and the request would not wait for it.
  case unreachable(lastFailure: String)
  /// `PoolConfiguration.maximumWaiting` requests wait already.
  case tooManyWaiting
  /// By `LeaseRequest.cancel()`.
  case cancelled
  /// The pool takes no more requests.
  case draining
}
