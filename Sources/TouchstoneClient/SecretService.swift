// SecretService: passcodes and gestures, and which ways of unlocking a profile has on.

public import TouchstoneCodec

extension TouchstoneClient {
  /// Sets a first secret, or changes one: a change needs the old one or fresh primary authentication.
  public var setSecret: UnaryMethod<V1.SetSecretRequest, V1.SetSecretResponse> {
    method("SecretService/SetSecret")
  }

  /// Erases it, and switches its way of unlocking off.
  public var removeSecret: UnaryMethod<V1.RemoveSecretRequest, V1.RemoveSecretResponse> {
    method("SecretService/RemoveSecret")
  }

  public var getUnlockSettings: UnaryMethod<V1.GetUnlockSettingsRequest, V1.GetUnlockSettingsResponse> {
    method("SecretService/GetUnlockSettings")
  }

  public var setUnlockSettings: UnaryMethod<V1.SetUnlockSettingsRequest, V1.SetUnlockSettingsResponse> {
    method("SecretService/SetUnlockSettings")
  }
}
