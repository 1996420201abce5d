// Compares the accelerated verifier with swift-crypto, in two steps, because the first one needs no accelerator:
//
//   accelerated-check prepare CRAFTED SEED BATCHES > CASES    writes cases with swift-crypto's answers
//   accelerated-check judge CASES                             compares the accelerator's answers with them
//
// `judge` exits with 1 if an answer differs, and with 69 if this build has no accelerator for this CPU.

import Glibc
import TouchstoneCrypto

func fail(_ message: String, exitCode: Int32) -> Never {
  let line = Array("accelerated-check: \(message)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
  exit(exitCode)
}

func lines(of path: String) -> [Substring] {
  guard let file = fopen(path, "r") else {
    fail("cannot open \(path): \(String(cString: strerror(errno)))", exitCode: 66)
  }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 1 << 20)
  while true {
    let count = fread(&chunk, 1, chunk.count, file)
    if count == 0 { break }
    bytes += chunk.prefix(count)
  }
  return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
}

let arguments = CommandLine.arguments.dropFirst()
switch (arguments.first, Array(arguments.dropFirst())) {
case ("prepare", let rest) where rest.count == 3:
  guard let seed = UInt64(rest[1]), let batches = Int(rest[2]) else {
    fail("SEED and BATCHES are numbers", exitCode: 64)
  }
  var generator = CaseGenerator(seed: seed, crafted: lines(of: rest[0]).compactMap(VerificationCase.init))
  for _ in 0..<batches {
    for one in generator.nextBatch() { print(one.line) }
    print()
  }
case ("judge", let rest) where rest.count == 1:
  guard let accelerator = BatchVerifier.accelerator else {
    fail("no accelerator for this CPU in this build", exitCode: 69)
  }
  var judge = Judge(accelerator)
  judge.read(lines(of: rest[0]))
  print(judge.summary)
  exit(judge.isContent ? 0 : 1)
default:
  fail("usage: accelerated-check prepare CRAFTED SEED BATCHES | judge CASES", exitCode: 64)
}
