// The facts of a failed attempt that decide about another one. Pure.

internal import DispatchRPC

struct AttemptFailure: Equatable {
  /// `grpc-retry-pushback-ms` (gRFC A6).
  enum Pushback: Equatable {
    case none
    case after(Duration)
    /// A negative number, or what is not one.
    case never
  }

  var code: RPCCode
  var progress: RPCProgress
  var pushback: Pushback

  init(code: RPCCode, progress: RPCProgress = .sent, pushback: Pushback = .none) {
    self.code = code
    self.progress = progress
    self.pushback = pushback
  }

  init(_ error: RPCError) {
    self.init(code: error.code, progress: error.progress, pushback: Pushback(error.metadata))
  }
}

extension AttemptFailure.Pushback {
  static let header = "grpc-retry-pushback-ms"

  init(_ metadata: Metadata) {
    // A value that is no text, or several, say nothing that could be relied on: as malformed as no number.
    switch metadata.all(Self.header) {
    case let values where values.isEmpty: self = .none
    case let values where values.count == 1: self.init(values[0])
    default: self = .never
    }
  }

  private init(_ value: Metadata.Value) {
    if case .text(let text) = value, let milliseconds = Int32(text), milliseconds >= 0 {
      self = .after(.milliseconds(Int64(milliseconds)))
    } else {
      self = .never
    }
  }
}
