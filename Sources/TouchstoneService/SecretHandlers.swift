// SecretService: passcode, gesture and the switches. Not served yet; malformed requests are told apart all the same.

internal import DispatchRPC
internal import TouchstoneCodec

extension TouchstoneService {
  func registerSecrets(_ methods: inout MethodTable) {
    let service = "/touchstone.v1.SecretService"
    registerUnserved("\(service)/SetSecret", V1.SetSecretRequest.self, in: &methods)
    registerUnserved("\(service)/RemoveSecret", V1.RemoveSecretRequest.self, in: &methods)
    registerUnserved("\(service)/GetUnlockSettings", V1.GetUnlockSettingsRequest.self, in: &methods)
    registerUnserved("\(service)/SetUnlockSettings", V1.SetUnlockSettingsRequest.self, in: &methods)
  }
}
