// grpc.health.v1: whether the service serves.

public import TouchstoneCodec

extension TouchstoneClient {
  /// Returns the status of a service by its full name, or of the server as a whole for an empty name. Every peer may call it.
  public var checkHealth: UnaryMethod<GRPCHealth.CheckRequest, GRPCHealth.CheckResponse> {
    method(GRPCHealth.Health.check)
  }
}
