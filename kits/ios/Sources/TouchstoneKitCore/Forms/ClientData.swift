// The bytes that an app vouches for by App Attest (docs/SIGNING.md).

extension Posture {
  /// Ten fields, byte for byte as the backend passes them on.
  public var bytes: [UInt8] {
    let flags = [biometryAvailable, biometryEnrolled, biometryLockedOut, passcodeSet]
    return Fields.encode(
      "touchstone posture v1",
      [platform, osVersion, deviceModel].map { Array($0.utf8) } + [[UInt8(clamping: biometryType)]]
        + flags.map { [$0 ? 1 : 0] } + [Array(domainState)])
  }
}

/// The bytes whose SHA-256 is the `clientDataHash` of App Attest.
public enum ClientData {
  public static func ofBinding(signingInput: Data, posture: Posture, keys: [NewKey]) -> [UInt8] {
    Fields.encode(
      "touchstone app attest binding v1",
      [Array(signingInput), posture.bytes]
        + keys.flatMap { [Array($0.publicKey), Array($0.mlDsa65PublicKey ?? Data()), [UInt8($0.protection.rawValue)]] })
  }

  public static func ofAttempt(
    signingInput: Data, signature: Data, mlDsa65Signature: Data?, posture: Posture
  ) -> [UInt8] {
    Fields.encode(
      "touchstone app attest attempt v1",
      [Array(signingInput), Array(signature), Array(mlDsa65Signature ?? Data()), posture.bytes])
  }
}
