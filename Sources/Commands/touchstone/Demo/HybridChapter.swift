// A hybrid key (R48): ML-DSA-65 beside P-256, for the day when a quantum computer forges the latter's signatures.

internal import SimulatedPhone
internal import TouchstoneClient

extension DemoStory {
  func hybridKeyLogsIn() async throws(WrongAnswer) {
    narrator.title("Her tablet has a hybrid key. Both signatures log her in, and the one on P-256 never does alone.")
    let tablet = on(DemoPhone(application: application, deviceID: "c2d9a7f4-51be-4f06-8a3d-6e0b9f17d842"))
    try await tablet.logInByBothHalves(of: HybridKey())
  }

  private func logInByBothHalves(of key: HybridKey) async throws(WrongAnswer) {
    let begun = try await beginBinding()
    let input = begun.signingInput
    let binding = try await complete(
      V1.CompleteBindingRequest(
        applicationID: application, ticket: begun.ticket, deviceName: "Ada's iPad",
        keys: [
          V1.HardwareKey(
            publicKey: key.p256.publicKeyX963, protection: .biometryCurrentSet, signature: key.p256.sign(input),
            mlDsa65PublicKey: key.mlDSA65PublicKey, mlDsa65Signature: key.signByMLDSA65(input))
        ], posture: phone.posture))
    try narrator.expect(binding.keyAlgorithms == [.p256MlDsa65], "a hybrid key")

    let evaluation = try await begin("login", bindingID: binding.bindingID)
    let challenge = evaluation.signingInput
    var proof = V1.KeyProof(signature: key.p256.sign(challenge), factor: .biometry)
    try await submit(evaluation, .key(proof), expecting: .tryAgain, named: "SubmitAttempt, P-256 alone")
    proof.mlDsa65Signature = key.signByMLDSA65(challenge)
    try await submit(evaluation, .key(proof), expecting: .succeeded, named: "SubmitAttempt, both")
  }
}
