// BindingService: which device may speak for which profile, and with what.

public import TouchstoneCodec

extension TouchstoneClient {
  /// After the person has logged in by other means: a ticket and a challenge for the device's new key.
  public var beginBinding: UnaryMethod<V1.BeginBindingRequest, V1.BeginBindingResponse> {
    method("BindingService/BeginBinding")
  }

  /// Stores the binding. The ticket serves once.
  public var completeBinding: UnaryMethod<V1.CompleteBindingRequest, V1.CompleteBindingResponse> {
    method("BindingService/CompleteBinding")
  }

  public var getBinding: UnaryMethod<V1.GetBindingRequest, V1.GetBindingResponse> {
    method("BindingService/GetBinding")
  }

  public var listBindings: UnaryMethod<V1.ListBindingsRequest, V1.ListBindingsResponse> {
    method("BindingService/ListBindings")
  }

  /// At once and for good: later attempts fail, and tokens issued for it introspect as inactive.
  public var revokeBinding: UnaryMethod<V1.RevokeBindingRequest, V1.RevokeBindingResponse> {
    method("BindingService/RevokeBinding")
  }

  /// Records a changed biometric database, on evidence of a login by another factor.
  public var acceptDomainState: UnaryMethod<V1.AcceptDomainStateRequest, V1.AcceptDomainStateResponse> {
    method("BindingService/AcceptDomainState")
  }
}
