// grpc.health.v1: whether the service serves.

internal import DispatchRPC
public import TouchstoneCodec

extension TouchstoneClient {
  /// Returns the status of a service by its full name, or of the server as a whole for an empty name. Every peer may
  /// call it.
  public var checkHealth: UnaryMethod<GRPCHealth.CheckRequest, GRPCHealth.CheckResponse> {
    method(GRPCHealth.Health.check)
  }

  /// Returns the status as `checkHealth` does, and the service's version if it knows the caller.
  package func health(of service: String = "") async throws(TouchstoneError) -> (
    status: GRPCHealth.CheckResponse.ServingStatus, version: String?
  ) {
    let answer = try await checkHealth.answer(to: checkHealth.encode(GRPCHealth.CheckRequest(service: service)))
    return (answer.message.status, answer.initialMetadata.first("touchstone-version"))
  }
}
