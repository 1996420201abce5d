// Whatever a peer sends, the answer is a message or an error.

import CodecMessages
import TestSupport
import Testing

@testable import TouchstoneCodec

@Suite struct FuzzTests {
  /// Known seeds, so that what is found once is found again.
  @Test(arguments: 1...4) func `random and damaged bytes are read or refused`(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let coder = MessageCoder()
    let types = AnyMessageType.all
    let honest = try Self.honestMessages()
    var accepted = 0
    for _ in 0..<25_000 {
      let type = types.randomElement(using: &random)!
      let bytes =
        Bool.random(using: &random)
        ? Self.noise(using: &random) : Self.damaged(honest.randomElement(using: &random)!, using: &random)
      guard let first = try? type.roundTrip(bytes, coder) else { continue }
      accepted += 1
      // A decoded message is encoded as bytes that decode to the same message.
      let second = try type.roundTrip(first.bytes, coder)
      #expect(second == first, "\(type.name) \(bytes)")
    }
    #expect(accepted > 1_000)
  }

  private static func honestMessages() throws -> [[UInt8]] {
    let posture = V1.DevicePosture(
      platform: "ios", osVersion: "17.5.1", deviceModel: "iPhone15,2", biometryType: .touchID, biometryAvailable: true,
      domainState: [UInt8](repeating: 7, count: 32))
    let secret = V1.Secret(kind: .gesture(V1.GestureProof(points: [0, 1, 2, 5])))
    return [
      try V1.CanEvaluatePolicyRequest(applicationID: "bank", policy: "pay", posture: posture).encoded(),
      try V1.SubmitAttemptRequest(
        evaluation: [1, 2, 3], attempt: .key(V1.KeyProof(signature: [4, 5], factor: .biometry)), posture: posture
      ).encoded(),
      try V1.SetSecretRequest(profileID: "alice", secret: secret, authority: .oldSecret(secret)).encoded(),
      try V1.ListEventsResponse(events: [V1.Event(kind: "a", details: ["k": "v", "l": "w"]), V1.Event()]).encoded(),
    ]
  }

  private static func noise(using random: inout SeededGenerator) -> [UInt8] {
    // Small numbers make keys and lengths that lead somewhere.
    (0..<Int.random(in: 0...40, using: &random)).map { _ in
      .random(in: Bool.random(using: &random) ? 0...42 : 0...255, using: &random)
    }
  }

  private static func damaged(_ bytes: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
      let index = bytes.indices.randomElement(using: &random)!
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes.insert(.random(in: 0...255, using: &random), at: index)
      case 2: bytes.remove(at: index)
      default: bytes.insert(contentsOf: bytes[index...].prefix(9), at: index)
      }
    }
    return bytes
  }
}
