// AdministrationService: for operators and support staff.

public import TouchstoneCodec

extension TouchstoneClient {
  /// All that is known of a profile, secrets aside.
  public var getProfile: UnaryMethod<V1.GetProfileRequest, V1.GetProfileResponse> {
    method("AdministrationService/GetProfile")
  }

  public var unlockDevice: UnaryMethod<V1.UnlockDeviceRequest, V1.UnlockDeviceResponse> {
    method("AdministrationService/UnlockDevice")
  }

  public var unlockSecret: UnaryMethod<V1.UnlockSecretRequest, V1.UnlockSecretResponse> {
    method("AdministrationService/UnlockSecret")
  }

  /// Removes everything of the profile but the audit chain's hashes.
  public var eraseProfile: UnaryMethod<V1.EraseProfileRequest, V1.EraseProfileResponse> {
    method("AdministrationService/EraseProfile")
  }

  public var listEvents: UnaryMethod<V1.ListEventsRequest, V1.ListEventsResponse> {
    method("AdministrationService/ListEvents")
  }

  /// What the service would answer, and by which rule, without doing it.
  public var explainEvaluation: UnaryMethod<V1.ExplainEvaluationRequest, V1.ExplainEvaluationResponse> {
    method("AdministrationService/ExplainEvaluation")
  }
}
