// AdministrationService: for operators and support staff.

public import TouchstoneCodec

extension TouchstoneClient {
  /// Returns everything that is stored about a profile, without its secrets.
  public var getProfile: UnaryMethod<V1.GetProfileRequest, V1.GetProfileResponse> {
    method(V1.AdministrationService.getProfile)
  }

  public var unlockDevice: UnaryMethod<V1.UnlockDeviceRequest, V1.UnlockDeviceResponse> {
    method(V1.AdministrationService.unlockDevice)
  }

  public var unlockSecret: UnaryMethod<V1.UnlockSecretRequest, V1.UnlockSecretResponse> {
    method(V1.AdministrationService.unlockSecret)
  }

  /// Removes everything about the profile except the audit chain's hashes.
  public var eraseProfile: UnaryMethod<V1.EraseProfileRequest, V1.EraseProfileResponse> {
    method(V1.AdministrationService.eraseProfile)
  }

  public var listEvents: UnaryMethod<V1.ListEventsRequest, V1.ListEventsResponse> {
    method(V1.AdministrationService.listEvents)
  }

  /// Returns the answer that BeginEvaluation would give, and the rules behind it, without opening an evaluation.
  public var explainEvaluation: UnaryMethod<V1.ExplainEvaluationRequest, V1.ExplainEvaluationResponse> {
    method(V1.AdministrationService.explainEvaluation)
  }
}
