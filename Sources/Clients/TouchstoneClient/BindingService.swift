// BindingService: which device may act for which profile, and with which credential.

public import TouchstoneCodec

extension TouchstoneClient {
  /// Returns a ticket and a challenge for the device's new key, after the person has logged in by other means.
  public var beginBinding: UnaryMethod<V1.BeginBindingRequest, V1.BeginBindingResponse> {
    method(V1.BindingService.beginBinding)
  }

  /// Stores the binding. The ticket serves once.
  public var completeBinding: UnaryMethod<V1.CompleteBindingRequest, V1.CompleteBindingResponse> {
    method(V1.BindingService.completeBinding)
  }

  public var getBinding: UnaryMethod<V1.GetBindingRequest, V1.GetBindingResponse> {
    method(V1.BindingService.getBinding)
  }

  public var listBindings: UnaryMethod<V1.ListBindingsRequest, V1.ListBindingsResponse> {
    method(V1.BindingService.listBindings)
  }

  /// Revokes a binding at once and for good: later attempts fail, and its tokens introspect as inactive.
  public var revokeBinding: UnaryMethod<V1.RevokeBindingRequest, V1.RevokeBindingResponse> {
    method(V1.BindingService.revokeBinding)
  }

  /// Records a changed domain state as the baseline, on evidence of a login by another factor.
  public var acceptDomainState: UnaryMethod<V1.AcceptDomainStateRequest, V1.AcceptDomainStateResponse> {
    method(V1.BindingService.acceptDomainState)
  }
}
