// The truth about passkeys and apps: what they signed, what they vouched for, and how far their counters went.

import SimulatedPhone
import TouchstoneCodec
import TouchstoneStore

final class ProofLedger {
  struct PasskeyUse {
    var assertion: SimulatedAuthenticator.Assertion
    var signingInput: [UInt8]
    var isOnOwnPage: Bool

    /// The last four bytes: there are no extensions.
    var signCount: UInt32 { assertion.authenticatorData.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } }
  }

  struct Vouching {
    var keyID: [UInt8]
    var clientData: [UInt8]
    var counter: UInt32
  }

  /// The signing inputs of registrations, by their attestation objects.
  private var registrations: [[UInt8]: [UInt8]] = [:]
  /// By their signatures.
  private var uses: [[UInt8]: PasskeyUse] = [:]
  /// By the bytes of attestations and assertions.
  private var vouchings: [[UInt8]: Vouching] = [:]
  /// The number of assertions of each app's key.
  private var assertionCounts: [[UInt8]: UInt32] = [:]
  /// The counter accepted last, by the name of its owner.
  private var counters: [[UInt8]: UInt32] = [:]

  // MARK: Passkeys

  func note(_ registration: SimulatedAuthenticator.Registration, over signingInput: [UInt8]) {
    registrations[registration.attestationObject] = signingInput
  }

  /// The signing input that it was made for; `nil`: no authenticator made it.
  func signingInput(of registration: V1.PasskeyRegistration) -> [UInt8]? {
    registrations[registration.attestationObject]
  }

  func note(_ assertion: SimulatedAuthenticator.Assertion, over signingInput: [UInt8], isOnOwnPage: Bool) {
    uses[assertion.signature] = PasskeyUse(
      assertion: assertion, signingInput: signingInput, isOnOwnPage: isOnOwnPage)
  }

  /// `nil`: no authenticator made it as it is; its user handle may be another one.
  func use(_ proof: V1.PasskeyProof) -> PasskeyUse? {
    guard let use = uses[proof.signature], use.assertion.credentialID == proof.credentialID,
      use.assertion.authenticatorData == proof.authenticatorData,
      use.assertion.clientDataJSON == proof.clientDataJSON
    else { return nil }
    return use
  }

  // MARK: Apps

  /// - Parameter counter: `nil`: that of the next assertion.
  func note(vouching bytes: [UInt8], by keyID: [UInt8], for clientData: [UInt8], counter: UInt32? = nil) {
    if counter == nil { assertionCounts[keyID, default: 0] += 1 }
    vouchings[bytes] = Vouching(
      keyID: keyID, clientData: clientData, counter: counter ?? assertionCounts[keyID, default: 0])
  }

  /// `nil`: no genuine app made it.
  func vouching(_ bytes: [UInt8]) -> Vouching? { vouchings[bytes] }

  // MARK: Counters

  /// False if it did not grow.
  func raise(counterOf binding: BindingRecord, to counter: UInt32) -> Bool {
    let name = binding.countersName
    guard counter > counters[name, default: 0] else { return false }
    counters[name] = counter
    return true
  }

  /// The counter that the service accepted last.
  func counter(of binding: BindingRecord) -> UInt32 { counters[binding.countersName, default: 0] }
}

extension BindingRecord {
  /// An App Attest key goes on counting for the device's next binding.
  fileprivate var countersName: [UInt8] { appAttest?.keyID ?? Array(bindingID.utf8) }
}
