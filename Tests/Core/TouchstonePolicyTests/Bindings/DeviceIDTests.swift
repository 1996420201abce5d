import Crypto
import FoundationEssentials
import TestSupport
import Testing
import TouchstonePolicy

/// An attacker that guesses a device's id locks the device for the vendor's other applications (R8).
struct DeviceIDTests {
  @Test(arguments: [
    "phone-1", "0123456789abcde", "aaaaaaaaaaaaaaaaaaaaaaaa", "abcdefghijklmnopqrst", "test-device-0123456789abcdef",
    "a1b2c3d4e5f6a7b8", "deadbeefdeadbeef",
    // Numbers, of whatever.
    "1234567890123456", "9876543210987654", "4929184736205817", "0000000000000042", "device-000000001",
    "phone-1234567890", "imei-356938035643809", "+49 170 1234567 alice", "1763829468123-carol",
    "2025-11-22T16:27:48Z", "192.168.100.200:54321",
    // UUIDs that no generator drew.
    "00000000-0000-0000-0000-000000000001", "11111111-1111-1111-1111-111111111111",
    "00000000-0000-4000-8000-000000001337", "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "12345678-1234-1234-1234-123456789012",
    // Half of a MAC address is its maker's.
    "a4:83:e7:2f:9b:01", "A4-83-E7-2F-9B-01", "phone-a483e72f9b01", "mac a483.e72f.9b01",
    "iphone-15-a4:83:e7:2f:9b:01", "fe80::a683:e7ff:fe2f:9b01", "a483e7fffe2f9b01", "A483E7FFFE2F9B01",
    "a4:83:e7:2f:9b:01-a4:83:e7:2f:9b:02", "A483E72F9B01A483E72F9B02", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "{F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6}", "1d07decf-81d4-6fae-a765-00a0c91e6bf6",
    "2a00:1450:4009:81f:a1b2:c3ff:fe2f:9b01",
    // Periods.
    "a1b2a1b2a1b2a1b2a1b2a1b2a1b2a1b2", "x7kx7kx7kx7kx7kx7kx7kx7k",
    "a1b2-a1b2-a1b2-a1b2-a1b2-a1b2-a1b2-a1b2", "F2LXK0ABG5QM-F2LXK0ABG5QM",
    "c0ffee00-c0ff-ee00-c0ff-ee00c0ffee00",
    // On many phones.
    "9774d56d682e549c", "550e8400-e29b-41d4-a716-446655440000", "d41d8cd98f00b204e9800998ecf8427e",
    "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "919108f7-52d1-4320-9bac-f847db4148a8",
    "C232AB00-9414-11EC-B3C8-9F6BDECED846", "5df41881-3aed-3515-88a7-2f4a814cf09e",
    "2ed6657d-e927-568b-95e1-2665a8aea6a2", "1EC9414C-232A-6B00-B3C8-9F6BDECED846",
    "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "2489E9AD-2EE2-8E00-8EC9-32D5F69181C0",
    "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
    // Digests of nothing and of non-values, in base64, as a UUID of version 3, and of other spellings.
    "1B2M2Y8AsgTpgAmY7PhCfg==", "1B2M2Y8AsgTpgAmY7PhCfg", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU", "d41d8cd9-8f00-3204-a980-0998ecf8427e",
    "cf95dc53-f383-39a8-b6fd-749f3ef439cd", "0f607264-fc63-38a9-ab9e-13c65db7cd3c",
    "6c3e226b4d4795d518ab341b0824ec29", "c4ca4238a0b923820dcc509a6f75849b",
    // Of a phone's model alone.
    "00000000-04c8-1afd-ffff-ffffef05ac4a", "ffffffff-bb08-6d6a-ffff-ffffef05ac4a",
    "0F607264FC6318A92B9E13C65DB7CD3C", "e3b0c442-98fc1c14-9afbf4c8-996fb924-27ae41e4-649b934c-a495991b-7852b855",
    // What a phone, a browser or a person is called.
    "google/sdk_gphone64_x86_64/emu64x:13/TE1A.220922.012/9302419:userdebug/dev-keys",
    "OnePlus-GM1913-12-SKQ1.211113.001-user-release-keys", "google_raven_13_TQ3A.230901.001_userdebug_dev-keys",
    "com.example.app/1.2.3 (iPhone; iOS 17.4)", "GYvKCm1aQx6mJ8Vn0pWd2A of alice@example.com",
    "MDEyMzQ1Njc4OWFiY2RlZg==", "dGVzdHRlc3R0ZXN0dGVzdA==",
    // Words, and what is made of them.
    "carol-iphone-15-pro", "carols-macbook-pro-14-inch-2021-m1-max", "iphone15promax-carol",
    "samsung-galaxy-s24-ultra-black-256gb-carol", "samsung-sm-g991b-carol", "com.example.bank.device.1",
    "correct-horse-battery-staple", "设备七号八九十甲乙丙丁戊己庚辛壬癸",
    "alice@example.com", "ALICE@EXAMPLE.COM", "phone-alice@example.com", "alice@example.comalice@example.com-1",
  ])
  func whatIsShortOrEvidentlyGuessableIsRefused(_ id: String) {
    #expect(DeviceID.violation(in: id, profileID: "alice@example.com") != nil)
    #expect(DeviceID.violation(in: id, profileID: "carol") != nil)
  }

  /// Digests of what systems answer instead of an identifier.
  @Test(arguments: [
    "", "0", "null", "nil", "undefined", "unknown", "none", "test", "android", "(null)", "Unknown", "NULL", "1",
    "02:00:00:00:00:00", "020000000000", "00:00:00:00:00:00", "000000000000000",
    "00000000-0000-0000-0000-000000000000", "9774d56d682e549c",
  ])
  func aDigestOfNoIdentifierIsRefused(_ text: String) {
    let data = Array(text.utf8)
    let digests = [
      Array(Insecure.MD5.hash(data: data)), Array(Insecure.SHA1.hash(data: data)), Array(SHA256.hash(data: data)),
    ]
    for digest in digests {
      let hexadecimal = digest.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
      for id in [hexadecimal, hexadecimal.uppercased(), Data(digest).base64EncodedString()] {
        #expect(DeviceID.violation(in: id, profileID: "carol") != nil, "\(id)")
      }
    }
    let long = SHA512.hash(data: []).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
    #expect(DeviceID.violation(in: long, profileID: "carol") != nil)
  }

  @Test func theProfilesIDCountsNothing() {
    let profileID = "6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42"
    for id in [profileID, "phone-\(profileID)", "\(profileID.uppercased())-15"] {
      #expect(DeviceID.violation(in: id, profileID: profileID) != nil)
    }
  }

  @Test(arguments: [
    "6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42", "E621E1F8-C36C-495A-93FC-0C247A3E6E60",
    "{6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42}", "urn:uuid:6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42",
    "user-keys-6f1c3f0e8a534d0c9e0b7f2f3f1d9b42", "6f1c3f0e8a534d0c9e0b7f2f3f1d9b42",
    "phone-6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42",
    // Versions 1, 3, 5, 6, 7 and 8, one bit beside the examples of RFC 9562. The nodes of 1 and 6 are random.
    "C232AB00-9414-11EC-B3C8-9F6BDECED847", "5df41881-3aed-3515-88a7-2f4a814cf09f",
    "2ed6657d-e927-568b-95e1-2665a8aea6a3", "1EC9414C-232A-6B00-B3C8-9F6BDECED847",
    "017F22E2-79B0-7CC3-98C4-DC0C0C07398E", "2489E9AD-2EE2-8E00-8EC9-32D5F69181C1",
    "3fa9c1b2d4e5f607", "GYvKCm1aQx6mJ8Vn0pWd2A", "GYvKCm1aQx6mJ8Vn0pWd2A==",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  ])
  func whatMayBeRandomIsTaken(_ id: String) {
    #expect(DeviceID.violation(in: id, profileID: "alice@example.com") == nil)
  }

  /// A number of few digits stands in many a random text.
  @Test func aShortProfileIDInARandomOneIsNoMatter() {
    #expect(DeviceID.violation(in: "6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42", profileID: "3f0e") == nil)
    #expect(DeviceID.violation(in: "6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42", profileID: "8") == nil)
  }

  /// How a random id is written, and how many of a thousand may be refused. Half of a thousandth of the ids of 16
  /// hexadecimal digits, as Android's are, is a number.
  @Test(arguments: [
    ("UUID", 0), ("32 hexadecimal digits", 0), ("16 bytes in base64url", 0.1), ("16 hexadecimal digits", 1),
    ("12 bytes in base64", 2), ("12 bytes in base64url", 2),
  ])
  func randomIDsAreTaken(_ writing: String, _ perThousand: Double) {
    var random = SeededGenerator(seed: 8)
    let count = 2_000
    let refused = (0..<count).count { _ in
      DeviceID.violation(in: Self.randomID(writing, &random), profileID: "carol") != nil
    }
    #expect(Double(refused) * 1_000 / Double(count) <= perThousand)
  }

  private static func randomID(_ writing: String, _ random: inout SeededGenerator) -> String {
    func hexadecimal(_ count: Int) -> String {
      String((0..<count).map { _ in "0123456789abcdef".randomElement(using: &random)! })
    }
    let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    func base64(_ count: Int, _ last: String) -> String {
      String((0..<count).map { _ in (letters + last).randomElement(using: &random)! })
    }
    return switch writing {
    case "UUID": "\(hexadecimal(8))-\(hexadecimal(4))-4\(hexadecimal(3))-a\(hexadecimal(3))-\(hexadecimal(12))"
    case "32 hexadecimal digits": hexadecimal(32)
    case "16 hexadecimal digits": hexadecimal(16)
    case "16 bytes in base64url": base64(22, "-_")
    case "12 bytes in base64url": base64(16, "-_")
    default: base64(16, "+/")
    }
  }
}
