// SecretService: passcodes and gestures, and the switches for a profile's ways to unlock.

public import TouchstoneCodec

extension TouchstoneClient {
  /// Sets a first secret, or changes one. Either needs fresh primary authentication; a change may use the old secret
  /// instead.
  public var setSecret: UnaryMethod<V1.SetSecretRequest, V1.SetSecretResponse> {
    method(V1.SecretService.setSecret)
  }

  /// Erases a secret, and switches its way to unlock off.
  public var removeSecret: UnaryMethod<V1.RemoveSecretRequest, V1.RemoveSecretResponse> {
    method(V1.SecretService.removeSecret)
  }

  public var getUnlockSettings: UnaryMethod<V1.GetUnlockSettingsRequest, V1.GetUnlockSettingsResponse> {
    method(V1.SecretService.getUnlockSettings)
  }

  public var setUnlockSettings: UnaryMethod<V1.SetUnlockSettingsRequest, V1.SetUnlockSettingsResponse> {
    method(V1.SecretService.setUnlockSettings)
  }
}
