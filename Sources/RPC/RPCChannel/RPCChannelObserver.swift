public import DispatchRPC

/// Receives what becomes of a channel's calls and of the attempts at them, as gRPC's proposal A66 measures them. From
/// any thread, for each call: it must take nanoseconds.
public protocol RPCChannelObserver: Sendable {
  /// - Parameter path: `/package.Service/Method`, as of all functions here.
  func attemptBegan(_ path: String)
  /// - Parameters:
  ///   - code: CANCELLED if the caller cancelled the call. Such an attempt may end after its call.
  ///   - time: with the wait for a connection.
  func attemptEnded(_ path: String, _ code: RPCCode, after time: Duration, _ bytes: RPCMessageBytes)
  /// - Parameter time: with all attempts, and the pauses between them.
  func callEnded(_ path: String, _ code: RPCCode, after time: Duration)
}

/// Tells the channel's observer, if there is one, of the calls to one method.
struct ObservedMethod: Sendable {
  private let observer: (any RPCChannelObserver)?
  private let path: String

  init(_ path: String, of core: ChannelCore) {
    (self.path, observer) = (path, core.configuration.observer)
  }

  /// `nil`: nothing is measured.
  func began() -> MonotonicTime? { observer.map { _ in .now() } }

  func attemptBegan() -> MonotonicTime? {
    guard let observer else { return nil }
    observer.attemptBegan(path)
    return .now()
  }

  func attemptEnded(_ code: RPCCode, since began: MonotonicTime?, _ bytes: RPCMessageBytes) {
    if let observer, let began { observer.attemptEnded(path, code, after: .now() - began, bytes) }
  }

  func callEnded(_ code: RPCCode, since began: MonotonicTime?) {
    if let observer { observer.callEnded(path, code, after: began.map { .now() - $0 } ?? .zero) }
  }
}

extension Result where Failure == RPCError {
  var code: RPCCode {
    switch self {
    case .success: .ok
    case .failure(let error): error.code
    }
  }
}
