import Crypto
import SimulatedPhone
import Testing

struct SimulatedAuthenticatorTests {
  private static let shop = SimulatedAuthenticator.Page(origin: "https://shop.example", rpID: "shop.example")
  private static let bank = SimulatedAuthenticator.Page(origin: "https://bank.example", rpID: "bank.example")

  @Test func eachUseCountsAndSignsItsChallenge() throws {
    let authenticator = SimulatedAuthenticator()
    let registration = authenticator.create(for: Self.shop, challenge: [0xFB, 0xFF, 1], userHandle: [7])
    #expect(
      String(decoding: registration.clientDataJSON, as: UTF8.self)
        == #"{"type":"webauthn.create","challenge":"-_8B","origin":"https://shop.example","crossOrigin":false}"#)
    // The object ends with the credential's key: x and y, each behind its label and its length.
    let object = registration.attestationObject
    let point = [4] + object.suffix(67).prefix(32) + object.suffix(32)
    let key = try P256.Signing.PublicKey(x963Representation: point)
    for count in 1...3 as ClosedRange<UInt8> {
      let assertion = try #require(authenticator.get(for: Self.shop, challenge: [count]))
      #expect(Array(assertion.authenticatorData.suffix(5)) == [0x05, 0, 0, 0, count])
      #expect(assertion.userHandle == [7])
      let message = assertion.authenticatorData + Array(SHA256.hash(data: assertion.clientDataJSON))
      #expect(key.isValidSignature(try .init(derRepresentation: assertion.signature), for: message))
    }
  }

  @Test func eachRelyingPartyHasItsOwn() throws {
    let authenticator = SimulatedAuthenticator()
    #expect(authenticator.get(for: Self.shop, challenge: []) == nil)
    _ = authenticator.create(for: Self.shop, challenge: [], userHandle: [1])
    #expect(authenticator.get(for: Self.bank, challenge: []) == nil)
    _ = authenticator.create(for: Self.bank, challenge: [], userHandle: [2])
    let first = try #require(authenticator.get(for: Self.shop, challenge: []))
    _ = authenticator.create(for: Self.shop, challenge: [], userHandle: [1])
    let second = try #require(authenticator.get(for: Self.shop, challenge: []))
    #expect(first.credentialID != second.credentialID)
    #expect(first.userHandle == second.userHandle)
  }

  @Test func aCloneCountsByItself() throws {
    let authenticator = SimulatedAuthenticator()
    _ = authenticator.create(for: Self.shop, challenge: [], userHandle: [1])
    let clone = authenticator.clone()
    for _ in 0..<2 { _ = authenticator.get(for: Self.shop, challenge: []) }
    let (own, stolen) = (authenticator.get(for: Self.shop, challenge: []), clone.get(for: Self.shop, challenge: []))
    #expect(try #require(own).authenticatorData.last == 3)
    #expect(try #require(stolen).authenticatorData.last == 1)
    #expect(own?.credentialID == stolen?.credentialID)
  }

  @Test func anAuthenticatorMayNotCount() throws {
    let authenticator = SimulatedAuthenticator(isCounting: false, seed: 7)
    _ = authenticator.create(for: Self.shop, challenge: [], userHandle: [1])
    for _ in 0..<2 {
      let assertion = try #require(authenticator.get(for: Self.shop, challenge: []))
      #expect(assertion.authenticatorData.last == 0)
    }
  }
}
