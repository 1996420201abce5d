// The constants on which both sides of the test service must agree, beside its messages.

/// A method's path.
public enum TestMethod: String, Sendable {
  case emptyCall = "/grpc.testing.TestService/EmptyCall"
  case unaryCall = "/grpc.testing.TestService/UnaryCall"
  case cacheableUnaryCall = "/grpc.testing.TestService/CacheableUnaryCall"
  case streamingOutputCall = "/grpc.testing.TestService/StreamingOutputCall"
  case streamingInputCall = "/grpc.testing.TestService/StreamingInputCall"
  case fullDuplexCall = "/grpc.testing.TestService/FullDuplexCall"
  case halfDuplexCall = "/grpc.testing.TestService/HalfDuplexCall"
  /// A method of a service that is served.
  case unimplementedCall = "/grpc.testing.TestService/UnimplementedCall"
  case unimplementedService = "/grpc.testing.UnimplementedService/UnimplementedCall"

  public var path: String { rawValue }
}

/// Metadata that the server sends back ("Echo Metadata" in interop-test-descriptions.md).
public enum EchoKey {
  public static let initial = "x-grpc-test-echo-initial"
  public static let trailing = "x-grpc-test-echo-trailing-bin"
}
