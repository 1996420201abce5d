// The bytes that clients of HTTP send: requests, and the forms in them.

@testable import DispatchHTTP

extension FuzzTarget {
  /// Requests or a refusal, the same however the bytes are cut.
  static let httpRequests = FuzzTarget("http-requests", maximumBytes: 2 << 10) { input in
    let whole = httpSteps(of: input, inPiecesOf: max(1, input.count))
    let bytewise = httpSteps(of: input, inPiecesOf: 1)
    require(whole == bytewise, "\(whole) became \(bytewise)")
  }
}

extension FuzzTarget {
  /// Fields, each once, that are the same when they are written and read again; or a refusal. Cookies are names and
  /// values, too.
  static let forms = FuzzTarget("forms", maximumBytes: 2 << 10) { input in
    var head = HTTPRequestHead(method: "GET", path: "/console", fields: HTTPFields(), host: nil)
    head.fields.append("Cookie", String(decoding: input, as: UTF8.self))
    let cookie = head.cookie("touchstone-console")
    require(cookie?.utf8.contains(UInt8(ascii: ";")) != true, "a cookie holds another one")
    guard let form = FormFields(parsing: input) else { return }
    require(form.fields.count <= FormFields.maximumFields, "\(form.fields.count) fields were taken")
    for (name, value) in form.fields {
      require(form[name]?.utf8.elementsEqual(value.utf8) == true, "two fields are called \(name)")
    }
    let written = form.fields.map { "\(FormFields.encode($0.name))=\(FormFields.encode($0.value))" }
    let text = written.joined(separator: "&")
    require(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(text) is no query")
    guard let again = FormFields(parsing: Array(text.utf8)) else { fatalError("\(text) cannot be read again") }
    require(
      again.fields.elementsEqual(form.fields) {
        $0.name.utf8.elementsEqual($1.name.utf8) && $0.value.utf8.elementsEqual($1.value.utf8)
      }, "\(form.fields) became \(again.fields)")
  }
}

private func httpSteps(of input: UnsafeRawBufferPointer, inPiecesOf size: Int) -> [String] {
  var parser = RequestParser(.init(headBytes: 512, headerFields: 8))
  var steps: [String] = []
  var start = 0
  while start < input.count {
    let end = min(input.count, start + size)
    parser.append(UnsafeRawBufferPointer(rebasing: input[start..<end]))
    start = end
    while let step = httpStep(&parser) { steps.append(step) }
  }
  return steps
}

private func httpStep(_ parser: inout RequestParser) -> String? {
  switch parser.next() {
  case .more: return nil
  case .head(let head):
    require(head.path.hasPrefix("/") || head.path == "*", "a path of no form: \(head.path)")
    let codings = head.fields.values(of: "transfer-encoding").map { $0.lowercased() }
    require(codings == (head.isChunked ? ["chunked"] : []), "a transfer coding was taken: \(codings)")
    require(!head.isChunked || head.fields.values(of: "content-length").isEmpty, "a body has two lengths")
    parser.takeBody(upTo: 512)
    return "\(head)"
  case .body(let body): return "\(body)"
  case .tooLarge: return "too large"
  case .refuse(let status, let reason):
    require((400...505).contains(status.code) && !reason.isEmpty, "a request is refused for no reason")
    return "\(status.code) \(reason)"
  }
}
