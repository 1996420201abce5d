import SeededGenerator
import Testing
import TouchstonePolicy

/// Whoever finds a device's id by guessing locks it for the vendor's other applications (R8).
struct DeviceIDTests {
  @Test(arguments: [
    "phone-1", "0123456789abcde", "aaaaaaaaaaaaaaaaaaaaaaaa", "1234567890123456", "9876543210987654",
    "abcdefghijklmnopqrst", "0123456789abcdef", "0000000000000042", "device-000000001",
    "00000000-0000-0000-0000-000000000001", "11111111-1111-1111-1111-111111111111", "alice@example.com",
    "ALICE@EXAMPLE.COM", "phone-alice@example.com", "alice@example.comalice@example.com-1",
  ])
  func whatIsShortOrEvidentlyGuessableIsRefused(_ id: String) {
    #expect(DeviceID.violation(in: id, profileID: "alice@example.com") != nil)
  }

  @Test(arguments: [
    "6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "9774d56d682e549c",
    "GYvKCm1aQx6mJ8Vn0pWd2A", "GYvKCm1aQx6mJ8Vn0pWd2A of alice@example.com", "设备七号八九十甲乙丙丁戊己庚辛壬癸",
  ])
  func whatMayBeRandomIsTaken(_ id: String) {
    #expect(DeviceID.violation(in: id, profileID: "alice@example.com") == nil)
  }

  /// A number of few digits stands in many a random text.
  @Test func aShortProfileIDInARandomOneIsNoMatter() {
    #expect(DeviceID.violation(in: "6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42", profileID: "3f0e") == nil)
    #expect(DeviceID.violation(in: "6f1c3f0e-8a53-4d0c-9e0b-7f2f3f1d9b42", profileID: "8") == nil)
  }

  @Test(arguments: 1...20)
  func randomIDsAreTaken(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let hexadecimal = String(UInt64.random(in: 1 << 60 ... .max, using: &random), radix: 16)
      let uuid = (0..<2).map { _ in String(UInt64.random(in: 1 << 60 ... .max, using: &random), radix: 16) }
      #expect(DeviceID.violation(in: uuid.joined(separator: "-"), profileID: "1234") == nil)
      #expect(DeviceID.violation(in: hexadecimal, profileID: "alice") == nil || Set(hexadecimal).count < 6)
    }
  }
}
