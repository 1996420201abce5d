// The parts of key descriptions.

/// Writes as much of DER as a key description has.
public enum DER {
  public static func sequence(_ items: [UInt8]...) -> [UInt8] { value([0x30], items.flatMap(\.self)) }
  public static func set(_ items: [[UInt8]]) -> [UInt8] { value([0x31], items.flatMap(\.self)) }
  public static func octets(_ bytes: [UInt8]) -> [UInt8] { value([0x04], bytes) }
  public static func enumerated(_ number: UInt8) -> [UInt8] { value([0x0A], [number]) }
  public static func boolean(_ octet: UInt8) -> [UInt8] { value([0x01], [octet]) }
  public static let null: [UInt8] = [0x05, 0]

  /// Zero or greater.
  public static func integer(_ number: Int) -> [UInt8] {
    var bytes = withUnsafeBytes(of: number.bigEndian) { Array($0.drop { $0 == 0 }) }
    if bytes.first.map({ $0 >= 0x80 }) ?? true { bytes.insert(0, at: 0) }
    return value([0x02], bytes)
  }

  /// With a number above 30, as Android's tags have it.
  public static func tagged(_ tag: UInt, _ item: [UInt8]) -> [UInt8] {
    let short = tag < 31
    let head: [UInt8] = short ? [0xA0 | UInt8(tag)] : [0xBF, 0x80 | UInt8(tag >> 7), UInt8(tag & 0x7F)]
    return value(head, item)
  }

  private static func value(_ head: [UInt8], _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let long: [UInt8] = count <= 0xFF ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
    let length = count < 0x80 ? [UInt8(count)] : long
    return head + length + content
  }
}
