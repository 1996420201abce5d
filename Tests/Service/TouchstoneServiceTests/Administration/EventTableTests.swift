import Testing
import TouchstoneCodec

@testable import TouchstoneService

/// Comma-separated values of events, which strangers' names are part of.
struct EventTableTests {
  private static let event = V1.Event(
    sequence: 7, time: V1.Timestamp(seconds: 0), kind: "evaluation.failed", applicationID: "shop", profileID: "anna",
    deviceID: "phone-1", bindingID: "b-1", caller: "web",
    details: ["reason": "WRONG_SECRET", "policy": "login", "factor": "passcode"])

  @Test func anEventIsALineWithACellForEachHeading() {
    #expect(
      EventTable.line(Self.event)
        == "7,1970-01-01T00:00:00Z,evaluation.failed,shop,anna,phone-1,b-1,web,WRONG_SECRET,factor=passcode; policy=login"
    )
    #expect(EventTable.heading.split(separator: ",").count == 10)
    #expect(EventTable.line(V1.Event(sequence: 8)) == "8,,,,,,,,,")
  }

  @Test(arguments: [
    ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("=1+2", "'=1+2"), ("+49", "'+49"), ("-1", "'-1"), ("@x", "'@x"),
    ("\"=1", "\"\"\"'=1\""), ("=a,b", "\"'=a,b\""), ("a=b", "a=b"),
    ("a;=1", "a;'=1"), ("a; \u{FF1D}1", "a; '\u{FF1D}1"), ("a;b=1", "a;b=1"),
  ])
  func aNameIsNoFormulaAndNoOtherCell(_ name: String, _ cell: String) {
    var event = V1.Event(sequence: 1)
    event.profileID = name
    #expect(EventTable.line(event) == "1,,,,\(cell),,,,,")
  }
}
