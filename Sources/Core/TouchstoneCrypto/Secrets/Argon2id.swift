internal import CArgon2

/// One computation of Argon2id (RFC 9106) by its reference implementation; only this file calls it. libargon2 wipes its
/// working memory before it frees it.
enum Argon2id {
  struct Inputs {
    var salt: [UInt8]
    /// RFC 9106's K: under another K, the same password has another tag.
    var key: [UInt8] = []
    /// RFC 9106's X.
    var associatedData: [UInt8] = []
    var parameters: PasswordHasher.Parameters
    var tagByteCount: Int
  }

  /// Throws `.outOfMemory` if the working memory is not available.
  static func tag(of password: UnsafeRawBufferPointer, _ inputs: Inputs) throws(CryptoError) -> [UInt8] {
    var tag = [UInt8](repeating: 0, count: inputs.tagByteCount)
    let tagByteCount = UInt32(tag.count)
    let code = tag.withUnsafeMutableBufferPointer { tag in
      inputs.salt.withUnsafeBytes { salt in
        inputs.key.withUnsafeBytes { key in
          inputs.associatedData.withUnsafeBytes { associatedData in
            var context = argon2_context()
            context.out = tag.baseAddress
            context.outlen = tagByteCount
            (context.pwd, context.pwdlen) = input(password)
            (context.salt, context.saltlen) = input(salt)
            (context.secret, context.secretlen) = input(key)
            (context.ad, context.adlen) = input(associatedData)
            context.t_cost = inputs.parameters.passes
            context.m_cost = inputs.parameters.memoryKibibytes
            context.lanes = inputs.parameters.lanes
            // The caller's own thread computes all lanes: the caller decides how many hashes run at once.
            context.threads = 1
            context.version = ARGON2_VERSION_13.rawValue
            return argon2id_ctx(&context)
          }
        }
      }
    }
    switch code {
    case ARGON2_OK.rawValue: return tag
    case ARGON2_MEMORY_ALLOCATION_ERROR.rawValue:
      throw CryptoError(
        code: .outOfMemory, message: "Argon2id: no memory (\(inputs.parameters.memoryKibibytes) KiB requested)")
    default:
      preconditionFailure("Argon2id refused its inputs: \(String(cString: argon2_error_message(code)))")
    }
  }
  /// Mutable only in C's type: without the flags that wipe them, inputs are only read.
  private static func input(_ bytes: UnsafeRawBufferPointer) -> (UnsafeMutablePointer<UInt8>?, UInt32) {
    (UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress), UInt32(bytes.count))
  }
}
