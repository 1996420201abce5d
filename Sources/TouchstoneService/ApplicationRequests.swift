// Which application each request is about.

internal import TouchstoneCodec

/// No handler sees a request before its caller was asked for this.
protocol ApplicationRequest {
  /// Empty: none in particular, which takes a grant for all.
  var applicationID: String { get }
}

// What is sealed (an evaluation, a ticket) opens only for the application that it was sealed for, and a token's is compared:
// so it is the request's own word that counts for these, too.

extension V1.CanEvaluatePolicyRequest: ApplicationRequest {}
extension V1.BeginEvaluationRequest: ApplicationRequest {}
extension V1.SubmitAttemptRequest: ApplicationRequest {}
extension V1.InvalidateEvaluationRequest: ApplicationRequest {}

extension V1.BeginBindingRequest: ApplicationRequest {}
extension V1.CompleteBindingRequest: ApplicationRequest {}
extension V1.GetBindingRequest: ApplicationRequest {}
extension V1.ListBindingsRequest: ApplicationRequest {}
extension V1.RevokeBindingRequest: ApplicationRequest {}
extension V1.AcceptDomainStateRequest: ApplicationRequest {}

extension V1.IntrospectTokenRequest: ApplicationRequest {}
extension V1.ConsumeTokenRequest: ApplicationRequest {}
extension V1.RevokeTokenRequest: ApplicationRequest {}

extension V1.SetSecretRequest: ApplicationRequest {}
extension V1.RemoveSecretRequest: ApplicationRequest {}
extension V1.GetUnlockSettingsRequest: ApplicationRequest {}
extension V1.SetUnlockSettingsRequest: ApplicationRequest {}

extension V1.GetProfileRequest: ApplicationRequest {}
extension V1.UnlockDeviceRequest: ApplicationRequest {}
extension V1.UnlockSecretRequest: ApplicationRequest {}
extension V1.EraseProfileRequest: ApplicationRequest {}

extension V1.ListEventsRequest: ApplicationRequest {
  var applicationID: String { filter?.applicationID ?? "" }
}

extension V1.WatchEventsRequest: ApplicationRequest {
  var applicationID: String { filter?.applicationID ?? "" }
}

extension V1.ExplainEvaluationRequest: ApplicationRequest {
  var applicationID: String { begin?.applicationID ?? "" }
}
