// A channel's tokens: when so much fails that trying again only adds to it (gRFC A6, "Throttling Retry Attempts").
// Pure.

struct RetryThrottle: Equatable {
  private let configuration: RPCRetryThrottling
  private(set) var tokens: Double

  init(_ configuration: RPCRetryThrottling) {
    self.configuration = configuration
    tokens = configuration.maximumTokens
  }

  var allowsRetries: Bool { tokens > configuration.maximumTokens / 2 }

  /// With a code that the policy would retry, or a pushback that forbids it.
  mutating func attemptFailed() {
    tokens = max(0, tokens - 1)
  }

  mutating func attemptSucceeded() {
    tokens = min(configuration.maximumTokens, tokens + configuration.tokenRatio)
  }
}
