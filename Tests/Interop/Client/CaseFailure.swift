// The failures that a case reports.

import DispatchRPC
import InteropSupport

struct CaseFailure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}

func expect<Value: Equatable>(_ actual: Value, is expected: Value, _ what: String) throws(CaseFailure) {
  guard actual == expected else { throw CaseFailure("\(what) is \(actual), not \(expected)") }
}

/// Zeros and nothing else.
func expect(_ payload: Payload?, isZeros count: Int32) throws(CaseFailure) {
  let body = payload?.body ?? []
  try expect(body.count, is: Int(count), "the payload's size")
  guard body.allSatisfy({ $0 == 0 }) else { throw CaseFailure("the payload is not all zeros") }
}

/// - Parameter message: `nil` for any.
func expect(
  _ outcome: Result<some Any, RPCError>, failsWith code: RPCCode, message: String? = nil
) throws(CaseFailure) {
  switch outcome {
  case .success: throw CaseFailure("the call succeeded; \(code) was expected")
  case .failure(let error):
    guard error.code == code else { throw CaseFailure("the call failed with \(error), not with \(code)") }
    if let message { try expect(error.message, is: message, "the status message") }
  }
}
