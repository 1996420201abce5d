import Testing

@testable import TouchstoneClient

/// Each property calls the RPC of its name; the list is the .proto files', WatchEvents aside, which streams (`EventWatchTests`).
@Test func everyMethodHasItsPath() {
  let client = TouchstoneClient(target: "127.0.0.1:1")
  let paths: [(String, String)] = [
    (client.canEvaluatePolicy.path, "EvaluationService/CanEvaluatePolicy"),
    (client.beginEvaluation.path, "EvaluationService/BeginEvaluation"),
    (client.submitAttempt.path, "EvaluationService/SubmitAttempt"),
    (client.invalidateEvaluation.path, "EvaluationService/InvalidateEvaluation"),
    (client.beginBinding.path, "BindingService/BeginBinding"),
    (client.completeBinding.path, "BindingService/CompleteBinding"),
    (client.getBinding.path, "BindingService/GetBinding"),
    (client.listBindings.path, "BindingService/ListBindings"),
    (client.revokeBinding.path, "BindingService/RevokeBinding"),
    (client.acceptDomainState.path, "BindingService/AcceptDomainState"),
    (client.setSecret.path, "SecretService/SetSecret"),
    (client.removeSecret.path, "SecretService/RemoveSecret"),
    (client.getUnlockSettings.path, "SecretService/GetUnlockSettings"),
    (client.setUnlockSettings.path, "SecretService/SetUnlockSettings"),
    (client.introspectToken.path, "TokenService/IntrospectToken"),
    (client.consumeToken.path, "TokenService/ConsumeToken"),
    (client.revokeToken.path, "TokenService/RevokeToken"),
    (client.getSigningKeys.path, "TokenService/GetSigningKeys"),
    (client.getProfile.path, "AdministrationService/GetProfile"),
    (client.unlockDevice.path, "AdministrationService/UnlockDevice"),
    (client.unlockSecret.path, "AdministrationService/UnlockSecret"),
    (client.eraseProfile.path, "AdministrationService/EraseProfile"),
    (client.listEvents.path, "AdministrationService/ListEvents"),
    (client.explainEvaluation.path, "AdministrationService/ExplainEvaluation"),
  ]
  for (path, name) in paths { #expect(path == "/touchstone.v1.\(name)") }
  #expect(client.checkHealth.path == "/grpc.health.v1.Health/Check")
}
