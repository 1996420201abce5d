// Header names and values compared as the bytes they are.

import Glibc

extension UnsafeRawBufferPointer {
  /// The text's UTF-8, which lives as long as the program.
  init(_ text: StaticString) {
    self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  @inline(__always)
  func equals(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && (count == 0 || memcmp(baseAddress!, text.utf8Start, count) == 0)
  }
}
