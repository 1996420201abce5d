import Glibc

/// A person's secret while it is checked: bytes that are wiped when their last reference goes, and that no description
/// shows.
///
/// It cannot wipe copies that were made before (the request's text).
public final class SecretBytes: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
  // Sendable because: only `init` and `deinit` write the bytes.

  private let buffer: UnsafeMutableRawBufferPointer
  public let count: Int

  public init(_ bytes: some Collection<UInt8>) {
    buffer = .allocate(byteCount: bytes.count, alignment: 1)
    buffer.copyBytes(from: bytes)
    count = bytes.count
  }

  /// - Parameter fill: returns how many bytes it wrote, from the beginning on.
  init<Failure>(
    capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
    do throws(Failure) {
      count = try fill(buffer)
      self.buffer = buffer
    } catch {
      Self.wipe(buffer)
      buffer.deallocate()
      throw error
    }
  }

  deinit {
    Self.wipe(buffer)
    buffer.deallocate()
  }

  /// The closure must not keep the bytes.
  public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  }

  /// Takes the same time for equal and different contents; the lengths are no secret.
  public func isEqual(to other: SecretBytes) -> Bool {
    withBytes { bytes in other.withBytes { areEqualInConstantTime(bytes, $0) } }
  }

  /// Bytes that were copied from a secret.
  static func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { wipe($0) }
  }

  /// Wipes in a way that no optimiser removes.
  public static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
    guard let start = buffer.baseAddress else { return }
    explicit_bzero(start, buffer.count)
  }

  public var description: String { "(secret)" }
  public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// Compares every byte, whatever the earlier ones were. Different lengths end it at once.
func areEqualInConstantTime(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
  guard left.count == right.count else { return false }
  var difference: UInt8 = 0
  for index in 0..<left.count { difference |= left[index] ^ right[index] }
  return difference == 0
}
