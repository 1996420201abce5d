import Testing

@testable import TerminalText

@Suite("Tables")
struct TextTableTests {
  private let table = TextTable(["NAME", "STATE", "ID"], [["手机", "active", "b-1"], ["phone", "revoked", "b-22"]])

  @Test("Columns are aligned by the cells of a terminal, and no line ends in spaces")
  func alignment() {
    #expect(
      table.lines(width: nil) == [
        "NAME   STATE    ID",
        "手机   active   b-1",
        "phone  revoked  b-22",
      ])
  }

  @Test("A table that is too wide becomes a block for each row, and nothing is cut off")
  func blocks() {
    #expect(table.lines(width: 20) == table.lines(width: nil))
    #expect(
      table.lines(width: 19) == [
        "NAME   手机", "STATE  active", "ID     b-1", "", "NAME   phone", "STATE  revoked", "ID     b-22",
      ])
  }

  @Test("A table without rows is its heading")
  func empty() {
    #expect(TextTable(["A", "B"], []).lines(width: 80) == ["A  B"])
    #expect(TextTable(["A"], []).isEmpty)
  }

  @Test("Words are wrapped before the edge, and a word that is wider has a line of its own")
  func wrapping() {
    let words = ["12", "token.used", "a=1", "reason=averylongword"]
    #expect(wrapped(words, width: nil, indent: 4) == ["12  token.used  a=1  reason=averylongword"])
    #expect(wrapped(words, width: 20, indent: 4) == ["12  token.used  a=1", "    reason=averylongword"])
    #expect(wrapped(words, width: 5, indent: 4) == ["12", "    token.used", "    a=1", "    reason=averylongword"])
    #expect(wrapped([], width: 10, indent: 4) == [""])
  }
}
