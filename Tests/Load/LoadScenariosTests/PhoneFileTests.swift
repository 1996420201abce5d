import LoadScenarios
import Testing

@Suite("Phone files")
struct PhoneFileTests {
  private static func file(_ shares: [PhoneShare]) -> PhoneFile {
    var file = PhoneFile(application: "shop", target: "127.0.0.1:7443", signingKeys: ["k1"])
    file.phones = shares.enumerated().map { index, share in
      PhoneFile.Phone(key: Self.key(index), bindingID: "b\(index)", profileID: "p\(index)", share: share)
    }
    return file
  }

  private static func key(_ index: Int) -> [UInt8] { (0..<32).map { (place: Int) in UInt8(place * 7 + index) } }

  @Test("What is written is read")
  func roundTrip() throws {
    let file = Self.file([.common, .secrets, .exclusive])
    let read = try PhoneFile(json: file.json)
    #expect(read.application == "shop" && read.target == "127.0.0.1:7443" && read.signingKeys == ["k1"])
    #expect(read.phones == file.phones)
    #expect(read.phones[1].keyBytes == Self.key(1))
  }

  @Test("Keys of any bytes are kept", arguments: [0, 1, 2, 31, 32, 33])
  func keys(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 151 + 200) }
    #expect(PhoneFile.Phone(key: bytes, bindingID: "b", profileID: "p", share: .common).keyBytes == bytes)
  }

  @Test("What is no phone file is refused, and so is another version's")
  func refused() throws {
    for text in [
      "no", "{}", "[]", #"{"format":"other","version":1}"#, #"{"format":"touchstone-load phones","version":1}"#,
    ] {
      #expect(throws: PhoneFile.Fault.noPhoneFile) { try PhoneFile(json: text) }
    }
    let later = #"{"format":"touchstone-load phones","version":2,"else":true}"#
    #expect(throws: PhoneFile.Fault.version(2)) { try PhoneFile(json: later) }
  }

  @Test("Only what a run needs and the file lacks is missing")
  func missing() {
    let file = Self.file([.common, .common, .exclusive])
    #expect(file.missing(from: [.common: 2]) == [:])
    #expect(file.missing(from: [.common: 5, .secrets: 1, .exclusive: 1]) == [.common: 3, .secrets: 1])
  }
}
