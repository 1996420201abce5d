// Header names and values compared as the bytes they are.

import Glibc

extension UnsafeRawBufferPointer {
  /// The text's UTF-8, which lives as long as the program.
  init(_ text: StaticString) {
    self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  @inline(__always)
  func equals(_ text: StaticString) -> Bool {
    equals(UnsafeRawBufferPointer(text))
  }

  @inline(__always)
  func equals(_ other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && (count == 0 || memcmp(baseAddress!, other.baseAddress!, count) == 0)
  }
}
