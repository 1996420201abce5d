// CryptoKit and DeviceCheck, which Linux does not have: no test of this repository runs these lines.

#if canImport(CryptoKit)
  import CryptoKit
  import Foundation
  import LocalAuthentication

  /// `nil`: the system, or the SDK that the app is built with, is older than iOS 26.
  func secureEnclaveHybridKeys() -> (any HybridKeyMaker)? {
    #if compiler(>=6.2)
      if #available(iOS 26, macOS 26, visionOS 26, *), SecureEnclave.isAvailable { return SecureEnclaveHybridKeys() }
    #endif
    return nil
  }

  #if compiler(>=6.2)
    @available(iOS 26, macOS 26, visionOS 26, *)
    private struct SecureEnclaveHybridKeys: HybridKeyMaker {
      func makeKey(_ accessControl: SecAccessControl) throws -> (sealed: Data, publicKey: Data) {
        let key = try SecureEnclave.MLDSA65.PrivateKey(accessControl: accessControl)
        return (key.dataRepresentation, key.publicKey.rawRepresentation)
      }

      func signature(of bytes: Data, bySealed key: Data, context: LAContext) throws -> Data {
        try SecureEnclave.MLDSA65.PrivateKey(dataRepresentation: key, authenticationContext: context)
          .signature(for: bytes)
      }
    }
  #endif
#endif

#if canImport(CryptoKit) && canImport(DeviceCheck)
  import DeviceCheck

  /// `nil`: this device has no App Attest.
  func deviceCheck() -> (any AppVoucher)? {
    DCAppAttestService.shared.isSupported ? DeviceCheckVoucher() : nil
  }

  private struct DeviceCheckVoucher: AppVoucher {
    func generateKey() async throws -> String {
      try await DCAppAttestService.shared.generateKey()
    }

    func attest(_ keyID: String, clientData: Data) async throws -> Data {
      try await DCAppAttestService.shared.attestKey(keyID, clientDataHash: Data(SHA256.hash(data: clientData)))
    }

    func assert(_ keyID: String, clientData: Data) async throws -> Data {
      try await DCAppAttestService.shared.generateAssertion(keyID, clientDataHash: Data(SHA256.hash(data: clientData)))
    }
  }
#endif
