// Forms are read in one way only.

import DispatchRPC
import Testing

@testable import DispatchHTTP

@Suite("Forms")
struct FormFieldsTests {
  private func fields(_ text: String) -> FormFields? { FormFields(parsing: Array(text.utf8)) }

  @Test("Names and values are decoded")
  func decoding() throws {
    let form = try #require(fields("a=1&b+c=d%20e%2b+f&%C3%BC=%e4%B8%AD&empty=&bare&g=h=i"))
    #expect(form["a"] == "1")
    #expect(form["b c"] == "d e+ f")
    #expect(form["ü"] == "中")
    #expect(form["empty"] == "" && form["bare"] == "")
    #expect(form["g"] == "h=i")
    #expect(form["z"] == nil)
    // Another spelling of the same character is another name.
    #expect(form["u\u{308}"] == nil)
  }

  @Test(
    "What could be read in two ways is refused",
    arguments: ["a=1&a=2", "a=%", "a=%4", "a=%4G", "a=%FF", "a=1&", "&", "a=1&&b=2", "a=%C3", "%GG=1"])
  func malformed(text: String) {
    #expect(fields(text)?["a"] == nil || text.hasSuffix("&") || text.contains("&&"))
    if text.contains("%") || text == "a=1&a=2" { #expect(fields(text) == nil) }
  }

  @Test("No form has more fields than the limit")
  func limit() {
    let form = (0..<FormFields.maximumFields).map { "f\($0)=1" }.joined(separator: "&")
    #expect(fields(form) != nil)
    #expect(fields(form + "&more=1") == nil)
  }

  @Test("An empty form has no field")
  func empty() {
    #expect(fields("")?["a"] == nil)
    #expect(fields("") != nil)
  }

  @Test("What is encoded reads back")
  func encoding() {
    let text = "ü &=%+\u{1F642}/?"
    #expect(fields("a=\(FormFields.encode(text))")?["a"] == text)
    #expect(FormFields.encode(text).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
  }

  private func head(_ fields: (String, String)...) -> HTTPRequestHead {
    var all = HTTPFields()
    for (name, value) in fields { all.append(name, value) }
    return HTTPRequestHead(method: "GET", path: "/", fields: all)
  }

  @Test("A cookie is found among others, and one that comes twice is none")
  func cookies() {
    #expect(head(("Cookie", "a=1; b=2;c=3=4")).cookie("b") == "2")
    #expect(head(("Cookie", "a=1; b=2;c=3=4")).cookie("c") == "3=4")
    #expect(head(("Cookie", "a=1"), ("Cookie", "b=2")).cookie("b") == "2")
    #expect(head(("Cookie", "ab=1; b")).cookie("b") == nil)
    // Unicode takes the first for ";". The others make one character with the byte before them.
    #expect(head(("Cookie", "a=1\u{37E}b=2")).cookie("b") == nil)
    #expect(head(("Cookie", "a=1;\u{301}b=2")).cookie("b") == nil)
    #expect(head(("Cookie", "b=\u{301}2")).cookie("b") == "\u{301}2")
    #expect(head(("Cookie", "b=1; b=2")).cookie("b") == nil)
    #expect(head(("Cookie", "b=1"), ("Cookie", "b=1")).cookie("b") == nil)
    #expect(head().cookie("b") == nil)
  }

  @Test("A body is a form only by its type")
  func bodies() {
    func form(_ types: String...) -> FormFields? {
      var fields = HTTPFields()
      for type in types { fields.append("Content-Type", type) }
      let head = HTTPRequestHead(method: "POST", path: "/", fields: fields)
      let client = (try? SocketAddress.unix(path: "/x"))!
      return HTTPRequest(head: head, body: Array("a=1".utf8), client: client, isEncrypted: false).formFields
    }
    #expect(form("application/x-www-form-urlencoded")?["a"] == "1")
    #expect(form("Application/X-WWW-Form-URLEncoded; charset=UTF-8")?["a"] == "1")
    #expect(form("text/plain") == nil)
    #expect(form() == nil)
    #expect(form("application/x-www-form-urlencoded", "text/plain") == nil)
  }
}
