// Which values may be a passcode, a gesture (R16) or a ProfileTouchID (R30). A violation follows the field's name ("is
// empty"), and reveals nothing of the secret.

public enum Passcode {
  /// In Unicode scalars of the prepared text (`OpaqueString`).
  public static let lengths = 4...64
  /// One repeated character is no secret.
  public static let fewestDistinctScalars = 2

  /// Whether a passcode of this length can have been set: as prepared, or as it was sent, which counted in earlier
  /// versions.
  public static func canBeRight(_ passcode: String) -> Bool {
    let count = passcode.unicodeScalars.count
    return lengths.contains(count) || isPreparable(count) && lengths.contains(preparedCount(of: passcode))
  }

  public static func violation(in passcode: String) -> String? {
    let isPreparable = isPreparable(passcode.unicodeScalars.count)
    let scalars = (isPreparable ? OpaqueString.prepare(passcode) : passcode).unicodeScalars
    guard isPreparable, lengths.contains(scalars.count) else {
      return "does not have \(lengths.lowerBound) to \(lengths.upperBound) characters"
    }
    guard let first = scalars.first, scalars.contains(where: { $0 != first }) else {
      return "has fewer than \(fewestDistinctScalars) distinct characters"
    }
    return nil
  }

  /// A longer text is not worth its composition.
  private static func isPreparable(_ count: Int) -> Bool {
    count <= lengths.upperBound * OpaqueString.mostScalarsOfOne
  }

  private static func preparedCount(of passcode: String) -> Int {
    OpaqueString.prepare(passcode).unicodeScalars.count
  }
}

public enum Gesture {
  public static let lengths = 4...9
  /// Dots of the 3 × 3 grid, row by row.
  public static let dots: ClosedRange<UInt32> = 0...8

  public static func violation(in points: [UInt32]) -> String? {
    guard lengths.contains(points.count) else {
      return "does not have \(lengths.lowerBound) to \(lengths.upperBound) points"
    }
    guard points.allSatisfy(dots.contains) else { return "has a point outside the dots 0 to 8" }
    guard Set(points).count == points.count else { return "has a point twice" }
    return nil
  }
}

public enum ProfileTouchID {
  /// At least 128 bits, because it is found by its digest alone, among all of an application.
  public static let lengths = 16...128
  /// Shorter names occur in many random texts.
  public static let shortestTellingName = 3
  /// 16 random bytes have fewer different values once in 10^11 times.
  public static let fewestDistinctBytes = 8
  /// 96 bits. Random bytes begin and end with so many zeros that fewer are left once in 10^9 times.
  public static let fewestUnpaddedBytes = 12

  /// The app may have chosen badly: evidently guessable values are refused.
  public static func violation(in bytes: [UInt8], profileID: String, deviceID: String) -> String? {
    guard lengths.contains(bytes.count) else {
      return "does not have \(lengths.lowerBound) to \(lengths.upperBound) bytes"
    }
    if isCounter(bytes) { return "is guessable: one byte repeated, or a counter" }
    if Set(bytes).count < fewestDistinctBytes {
      return "is guessable: fewer than \(fewestDistinctBytes) different bytes"
    }
    if unpadded(bytes).count < fewestUnpaddedBytes { return "is guessable: padded with zeros" }
    if isPrintable(bytes) && (bytes.contains(name: profileID) || bytes.contains(name: deviceID)) {
      return "is guessable: text that contains the profile or the device"
    }
    return nil
  }

  /// Every byte has the same distance from the previous one: zero, up, down, or in steps, modulo 256; or, in a text of
  /// digits, every digit, modulo 10.
  private static func isCounter(_ bytes: [UInt8]) -> Bool {
    let steps = zip(bytes, bytes.dropFirst()).map { $1 &- $0 }
    if steps.allSatisfy({ $0 == steps[0] }) { return true }
    guard bytes.allSatisfy(\.isDigit) else { return false }
    let digitSteps = zip(bytes, bytes.dropFirst()).map { (10 + $1 - $0) % 10 }
    return digitSteps.allSatisfy { $0 == digitSteps[0] }
  }

  /// A number or a text that only zeros make long enough: as bytes or as digits, before or after it.
  private static func unpadded(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    let trimmed = bytes.drop(while: \.isPadding)
    return trimmed.dropLast(trimmed.reversed().prefix(while: \.isPadding).count)
  }

  private static func isPrintable(_ bytes: [UInt8]) -> Bool {
    guard let text = String(validating: bytes, as: UTF8.self) else { return false }
    return Identifier.violation(in: text, maximumBytes: lengths.upperBound) == nil
  }
}

extension [UInt8] {
  /// Removes every occurrence, in upper or lower case of ASCII. A name that is too short to count stays.
  func removing(name: String) -> [UInt8] {
    let name = Array(name.utf8)
    guard name.count >= ProfileTouchID.shortestTellingName else { return self }
    var kept: [UInt8] = []
    var index = 0
    while index < count {
      let isName = zip(self[index...], name).allSatisfy { $0.lowercased == $1.lowercased }
      if isName, index + name.count <= count {
        index += name.count
      } else {
        kept.append(self[index])
        index += 1
      }
    }
    return kept
  }

  /// Upper and lower case of ASCII are equal: the next guess after "alice" is "Alice".
  func contains(name: String) -> Bool {
    let name = Array(name.utf8)
    guard name.count >= ProfileTouchID.shortestTellingName, name.count <= count else { return false }
    return (0...(count - name.count)).contains { start in
      zip(self[start...], name).allSatisfy { $0.lowercased == $1.lowercased }
    }
  }
}

extension UInt8 {
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
  fileprivate var isPadding: Bool { self == 0 || self == UInt8(ascii: "0") }
  fileprivate var lowercased: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}
