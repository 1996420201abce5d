// Every public message type of the codec, for tests that hold for all of them. The cross-check with Python fails where one of
// the .proto files' types is missing here.

public import TouchstoneCodec

/// A message type, with what a test does to it without knowing which it is.
public struct AnyMessageType: Sendable, CustomStringConvertible {
  public let name: String
  /// Decodes, describes what is in the properties, and encodes anew.
  public let roundTrip: @Sendable ([UInt8], MessageCoder) throws -> (description: String, bytes: [UInt8])

  public init<Message: WireMessage>(_ type: Message.Type) {
    name = type.fullName
    roundTrip = { bytes, coder in
      let message = try coder.decode(Message.self, from: bytes)
      return (describe(message), try coder.encode(message))
    }
  }

  public var description: String { name }
}

extension AnyMessageType {
  public static let all: [AnyMessageType] =
    types + bindings + evaluations + secrets + tokens + administration + google + grpc

  private static let types = [
    AnyMessageType(V1.DevicePosture.self), AnyMessageType(V1.Transaction.self), AnyMessageType(V1.Title.self),
    AnyMessageType(V1.LocalizedText.self), AnyMessageType(V1.Denial.self), AnyMessageType(V1.Presentation.self),
    AnyMessageType(V1.Event.self),
  ]

  private static let bindings = [
    AnyMessageType(V1.PrimaryAuthentication.self), AnyMessageType(V1.HardwareKey.self),
    AnyMessageType(V1.ProfileTouchID.self), AnyMessageType(V1.Binding.self),
    AnyMessageType(V1.BeginBindingRequest.self), AnyMessageType(V1.BeginBindingResponse.self),
    AnyMessageType(V1.CompleteBindingRequest.self), AnyMessageType(V1.CompleteBindingResponse.self),
    AnyMessageType(V1.GetBindingRequest.self), AnyMessageType(V1.GetBindingResponse.self),
    AnyMessageType(V1.ListBindingsRequest.self), AnyMessageType(V1.ListBindingsResponse.self),
    AnyMessageType(V1.RevokeBindingRequest.self), AnyMessageType(V1.RevokeBindingResponse.self),
    AnyMessageType(V1.AcceptDomainStateRequest.self), AnyMessageType(V1.AcceptDomainStateResponse.self),
  ]

  private static let evaluations = [
    AnyMessageType(V1.CanEvaluatePolicyRequest.self), AnyMessageType(V1.CanEvaluatePolicyResponse.self),
    AnyMessageType(V1.BeginEvaluationRequest.self), AnyMessageType(V1.BeginEvaluationResponse.self),
    AnyMessageType(V1.KeyProof.self), AnyMessageType(V1.ProfileTouchIDProof.self),
    AnyMessageType(V1.PasscodeProof.self), AnyMessageType(V1.GestureProof.self),
    AnyMessageType(V1.PasskeyProof.self), AnyMessageType(V1.DeviceReport.self),
    AnyMessageType(V1.SubmitAttemptRequest.self), AnyMessageType(V1.SubmitAttemptResponse.self),
    AnyMessageType(V1.InvalidateEvaluationRequest.self), AnyMessageType(V1.InvalidateEvaluationResponse.self),
  ]

  private static let secrets = [
    AnyMessageType(V1.Secret.self), AnyMessageType(V1.SetSecretRequest.self),
    AnyMessageType(V1.SetSecretResponse.self), AnyMessageType(V1.RemoveSecretRequest.self),
    AnyMessageType(V1.RemoveSecretResponse.self), AnyMessageType(V1.UnlockSettings.self),
    AnyMessageType(V1.GetUnlockSettingsRequest.self), AnyMessageType(V1.GetUnlockSettingsResponse.self),
    AnyMessageType(V1.SetUnlockSettingsRequest.self), AnyMessageType(V1.SetUnlockSettingsResponse.self),
  ]

  private static let tokens = [
    AnyMessageType(V1.TokenClaims.self), AnyMessageType(V1.IntrospectTokenRequest.self),
    AnyMessageType(V1.IntrospectTokenResponse.self), AnyMessageType(V1.ConsumeTokenRequest.self),
    AnyMessageType(V1.ConsumeTokenResponse.self), AnyMessageType(V1.RevokeTokenRequest.self),
    AnyMessageType(V1.RevokeTokenResponse.self), AnyMessageType(V1.GetSigningKeysRequest.self),
    AnyMessageType(V1.GetSigningKeysResponse.self),
  ]

  private static let administration = [
    AnyMessageType(V1.SecretStanding.self), AnyMessageType(V1.DeviceStanding.self),
    AnyMessageType(V1.SeenPosture.self),
    AnyMessageType(V1.GetProfileRequest.self), AnyMessageType(V1.GetProfileResponse.self),
    AnyMessageType(V1.UnlockDeviceRequest.self), AnyMessageType(V1.UnlockDeviceResponse.self),
    AnyMessageType(V1.UnlockSecretRequest.self), AnyMessageType(V1.UnlockSecretResponse.self),
    AnyMessageType(V1.EraseProfileRequest.self), AnyMessageType(V1.EraseProfileResponse.self),
    AnyMessageType(V1.EventFilter.self), AnyMessageType(V1.ListEventsRequest.self),
    AnyMessageType(V1.ListEventsResponse.self), AnyMessageType(V1.WatchEventsRequest.self),
    AnyMessageType(V1.WatchEventsResponse.self), AnyMessageType(V1.ExplainEvaluationRequest.self),
    AnyMessageType(V1.ExplainEvaluationResponse.self), AnyMessageType(V1.RuleTrace.self),
  ]

  private static let google = [
    AnyMessageType(V1.Timestamp.self), AnyMessageType(V1.Duration.self),
    AnyMessageType(RPCDetail.AnyMessage.self),
    AnyMessageType(RPCDetail.ErrorInfo.self), AnyMessageType(RPCDetail.RetryInfo.self),
    AnyMessageType(RPCDetail.QuotaFailure.self), AnyMessageType(RPCDetail.QuotaFailure.Violation.self),
    AnyMessageType(RPCDetail.PreconditionFailure.self), AnyMessageType(RPCDetail.PreconditionFailure.Violation.self),
    AnyMessageType(RPCDetail.BadRequest.self), AnyMessageType(RPCDetail.BadRequest.FieldViolation.self),
    AnyMessageType(RPCDetail.LocalizedMessage.self),
  ]

  private static let grpc = [
    AnyMessageType(GRPCHealth.CheckRequest.self), AnyMessageType(GRPCHealth.CheckResponse.self),
    AnyMessageType(GRPCHealth.ListRequest.self), AnyMessageType(GRPCHealth.ListResponse.self),
    AnyMessageType(GRPCHealth.ListResponse.Entry.self),
    AnyMessageType(GRPCReflection.Request.self), AnyMessageType(GRPCReflection.ExtensionRequest.self),
    AnyMessageType(GRPCReflection.Response.self), AnyMessageType(GRPCReflection.FileDescriptorResponse.self),
    AnyMessageType(GRPCReflection.ExtensionNumberResponse.self),
    AnyMessageType(GRPCReflection.ListServiceResponse.self), AnyMessageType(GRPCReflection.ServiceResponse.self),
    AnyMessageType(GRPCReflection.ErrorResponse.self),
  ]
}
