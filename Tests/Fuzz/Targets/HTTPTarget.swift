// The bytes that clients of HTTP send.

@testable import DispatchHTTP

extension FuzzTarget {
  /// Requests or a refusal, the same however the bytes are cut.
  static let httpRequests = FuzzTarget("http-requests", maximumBytes: 2 << 10) { input in
    let whole = httpSteps(of: input, inPiecesOf: max(1, input.count))
    let bytewise = httpSteps(of: input, inPiecesOf: 1)
    require(whole == bytewise, "\(whole) became \(bytewise)")
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
    require(!head.fields.values(of: "transfer-encoding").contains { _ in true }, "a transfer coding was taken")
    parser.takeBody()
    return "\(head)"
  case .body(let body): return "\(body)"
  case .refuse(let status, let reason):
    require((400...505).contains(status.code) && !reason.isEmpty, "a request is refused for no reason")
    return "\(status.code) \(reason)"
  }
}
