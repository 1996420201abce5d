// libFuzzer, where the tests were linked with it.

import Glibc

enum LibFuzzer {
  struct Missing: Error, CustomStringConvertible {
    let description = "the tests were built without libFuzzer; make fuzz builds them with it"
  }

  private typealias Entry = @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
  private typealias Driver =
    @convention(c) (
      UnsafeMutablePointer<Int32>, UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>, Entry
    ) -> Int32

  // Unsafe only in name: written once before libFuzzer calls, which takes no context of ours.
  nonisolated(unsafe) private static var target: FuzzTarget?

  /// Ends the process, with an error if something was found.
  ///
  /// - Parameter arguments: libFuzzer's: flags and directories of inputs.
  static func run(_ target: FuzzTarget, arguments: [String]) throws -> Never {
    guard let symbol = dlsym(nil, "LLVMFuzzerRunDriver") else { throw Missing() }
    self.target = target
    let words = ["fuzz", "-max_len=\(target.maximumBytes)"] + arguments
    var count = Int32(words.count)
    let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: words.count + 1)
    pointers.initialize(repeating: nil, count: words.count + 1)
    for (index, word) in words.enumerated() { pointers[index] = strdup(word) }
    var list = pointers
    let status = unsafeBitCast(symbol, to: Driver.self)(&count, &list) { bytes, count in
      LibFuzzer.target!.run(UnsafeRawBufferPointer(start: bytes, count: count))
      return 0
    }
    exit(status)
  }
}
