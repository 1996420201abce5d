// Random bytes, digests and comparison: what every other file here begins with.

import Crypto
import Glibc

/// Bytes of the kernel's generator (getentropy(3)), fit for keys.
///
/// - Precondition: `count` is at most 256, the most that one call gives.
public func randomBytes(_ count: Int) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
    precondition(getentropy(buffer.baseAddress, count) == 0, "no entropy: \(count) bytes asked for, errno \(errno)")
    filled = count
  }
}

/// SHA-256 (FIPS 180-4), 32 bytes.
public func sha256(_ bytes: [UInt8]) -> [UInt8] {
  Array(SHA256.hash(data: bytes))
}
