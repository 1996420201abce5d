// Which calls are made again by themselves, as the service's protos promise.

internal import DispatchRPC
internal import RPCChannel

enum RepeatableMethods {
  /// These change nothing, or say of themselves that they may be repeated: whether a lost call happened makes no difference.
  ///
  /// Not among them: SubmitAttempt, SetSecret and RemoveSecret (a wrong secret would count twice), CompleteBinding and
  /// ConsumeToken (a ticket and a payment serve once: a second call would be told that somebody else was first), and
  /// SetUnlockSettings (it could undo what another call has set since).
  static let names = [
    "EvaluationService/CanEvaluatePolicy", "EvaluationService/BeginEvaluation",
    "EvaluationService/InvalidateEvaluation",
    "BindingService/BeginBinding", "BindingService/GetBinding", "BindingService/ListBindings",
    "BindingService/RevokeBinding", "BindingService/AcceptDomainState",
    "SecretService/GetUnlockSettings",
    "TokenService/IntrospectToken", "TokenService/RevokeToken", "TokenService/GetSigningKeys",
    "AdministrationService/GetProfile", "AdministrationService/UnlockDevice", "AdministrationService/UnlockSecret",
    "AdministrationService/EraseProfile", "AdministrationService/ListEvents",
    "AdministrationService/ExplainEvaluation",
  ]

  static let policies = Dictionary(
    uniqueKeysWithValues: names.map { ("/touchstone.v1.\($0)", RPCMethodPolicy(attempts: .retry(again))) })

  /// UNAVAILABLE: it may have happened. ABORTED: it has not.
  private static let again = RPCRetryPolicy(retryableCodes: [.unavailable, .aborted])

  /// For all others: nothing was done, so that any call may be made again.
  static let defaultPolicy = RPCMethodPolicy(attempts: .retry(RPCRetryPolicy(retryableCodes: [.aborted])))
}
