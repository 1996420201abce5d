// Code that several suites use.

import TouchstoneCrypto

/// swift-crypto exports this name as well.
typealias CryptoError = TouchstoneCrypto.CryptoError

/// The bytes of hexadecimal digits; white space is passed over.
func hex(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
