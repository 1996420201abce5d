// The fuzzed functions: they take any bytes, and trap on defects that no sanitizer sees.

import Testing

/// One entry of libFuzzer's. It must not keep state that one input leaves to the next.
struct FuzzTarget: Sendable, CustomTestStringConvertible {
  /// Its folder in Seeds and Findings, and its word on the command line.
  let name: String
  /// Longer inputs find nothing that shorter ones do not.
  let maximumBytes: Int
  let run: @Sendable (UnsafeRawBufferPointer) -> Void

  init(_ name: String, maximumBytes: Int, run: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
    self.name = name
    self.maximumBytes = maximumBytes
    self.run = run
  }

  var testDescription: String { name }

  static let all = [
    codec, serverBytes, serverDialogue, clientBytes, headerValues, gzip, certificates, attestation, proofs,
    tokens, sealed, decisionTables, httpRequests, forms, json,
  ]
}

/// Traps if a condition is false that must hold for every input; a debug build's assertion would do, but for its name.
func require(_ condition: @autoclosure () -> Bool, _ what: @autoclosure () -> String) {
  if !condition() { fatalError(what()) }
}
