import Encodings
import Testing
import TouchstoneCrypto

@testable import TouchstoneService

/// What a passkey's `user.id` is, and which ones serve (R46).
struct UserHandleTests {
  private let pepper: Pepper

  init() throws {
    pepper = try Pepper(bytes: (0..<Pepper.byteCount).map { UInt8($0) })
  }

  @Test("It is text whose base64 has neither padding nor digits that base64url lacks")
  func text() {
    for number in 0..<100 {
      let handle = pepper.userHandle(of: "profile-\(number)", in: "shop")
      #expect(handle.count == 48 && handle.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "f") ~= $0 })
      let encoded = Base64URL.encode(handle)
      #expect(encoded.utf8.count == 64 && !encoded.contains { $0 == "-" || $0 == "_" })
    }
  }

  @Test("The bytes that were given out before serve, and no other profile's or application's")
  func formerBytes() {
    let handles = pepper.userHandles(of: "anna", in: "shop")
    // HMAC-SHA-256 of purpose, application and profile, each after its length, as Python makes it.
    let former = "51ec7a7c6e21f4d0af87f3d679348a609478457aac4313fed0b6891aed234e1e"
    #expect(handles.count == 2 && handles[0] == pepper.userHandle(of: "anna", in: "shop"))
    #expect(hexadecimal(handles[1]).hasPrefix(former))
    for other in [pepper.userHandles(of: "bob", in: "shop"), pepper.userHandles(of: "anna", in: "bank")] {
      #expect(Set(other).isDisjoint(with: handles))
    }
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
  }
}
