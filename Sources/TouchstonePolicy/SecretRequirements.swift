// What may be a passcode, a gesture (R16), a ProfileTouchID (R30), or the id of a device that is bound. A violation goes behind the field's name ("is
// empty"), and says nothing of the secret itself.

public enum Passcode {
  /// In Unicode scalars: neither normalised nor folded, so that every keyboard's output is its own.
  public static let lengths = 4...64
  /// One character over and over is no secret.
  public static let fewestDistinctScalars = 2

  public static func violation(in passcode: String) -> String? {
    let scalars = passcode.unicodeScalars
    guard lengths.contains(scalars.count) else {
      return "does not have \(lengths.lowerBound) to \(lengths.upperBound) characters"
    }
    guard let first = scalars.first, scalars.contains(where: { $0 != first }) else {
      return "has fewer than \(fewestDistinctScalars) distinct characters"
    }
    return nil
  }
}

public enum Gesture {
  public static let lengths = 4...9
  /// Of the 3 × 3 grid, row by row.
  public static let dots: ClosedRange<UInt32> = 0...8

  public static func violation(in points: [UInt32]) -> String? {
    guard lengths.contains(points.count) else {
      return "does not have \(lengths.lowerBound) to \(lengths.upperBound) points"
    }
    guard points.allSatisfy(dots.contains) else { return "has a point that is none of the dots 0 to 8" }
    guard Set(points).count == points.count else { return "has a point twice" }
    return nil
  }
}

public enum ProfileTouchID {
  /// 128 bits at least: it is found by its digest alone, among all of an application.
  public static let lengths = 16...128
  /// Any shorter name stands in many a random text.
  public static let shortestTellingName = 3
  /// Of 16 random bytes, fewer are different once in 10^11 times.
  public static let fewestDistinctBytes = 8
  /// 96 bits. Random bytes begin and end with so many zeros that fewer are left once in 10^9 times.
  public static let fewestUnpaddedBytes = 12

  /// Whoever chose it may have chosen badly; what is evidently guessable is refused.
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
      return "is guessable: text with the profile or the device in it"
    }
    return nil
  }

  /// Every byte is as far from the one before: none, up, down, or in steps, round 256; or, of a text of digits, every
  /// digit, round 10.
  private static func isCounter(_ bytes: [UInt8]) -> Bool {
    let steps = zip(bytes, bytes.dropFirst()).map { $1 &- $0 }
    if steps.allSatisfy({ $0 == steps[0] }) { return true }
    guard bytes.allSatisfy(\.isDigit) else { return false }
    let digitSteps = zip(bytes, bytes.dropFirst()).map { (10 + $1 - $0) % 10 }
    return digitSteps.allSatisfy { $0 == digitSteps[0] }
  }

  /// A number or a text is as long as asked for by zeros alone: as bytes or as digits, before it or behind.
  private static func unpadded(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    let trimmed = bytes.drop(while: \.isPadding)
    return trimmed.dropLast(trimmed.reversed().prefix(while: \.isPadding).count)
  }

  private static func isPrintable(_ bytes: [UInt8]) -> Bool {
    guard let text = String(validating: bytes, as: UTF8.self) else { return false }
    return Identifier.violation(in: text, maximumBytes: lengths.upperBound) == nil
  }
}

public enum DeviceID {
  /// Whoever names a device locks it for the vendor's other applications (R8), so its id must not be found by guessing.
  public static let fewestCharacters = 16
  /// Of 16 random hexadecimal digits, fewer are different once in 10^5 times.
  public static let fewestDistinctBytes = 6
  /// What is left of it without padding, and without the profile's id.
  public static let fewestTellingBytes = 12
  /// Random digits have a longer run of one digit once in 10^4 times; then it is counted once.
  public static let longestRun = 3
  /// Where two thirds of the bytes are as far from the one before, it is a row of letters or digits.
  private static let sameSteps = (count: 2, of: 3)

  /// Whoever chose it may have chosen badly; what is short or evidently guessable is refused.
  public static func violation(in id: String, profileID: String) -> String? {
    guard id.unicodeScalars.count >= fewestCharacters else { return "has fewer than \(fewestCharacters) characters" }
    let bytes = Array(id.utf8)
    if isRow(bytes) || Set(bytes).count < fewestDistinctBytes || withoutRuns(bytes).count < fewestTellingBytes {
      return "is guessable: a row, a number, or padded"
    }
    if withoutRuns(bytes.removing(name: profileID)).count < fewestTellingBytes {
      return "is guessable: hardly more than the profile's id"
    }
    return nil
  }

  private static func isRow(_ bytes: [UInt8]) -> Bool {
    var counts: [UInt8: Int] = [:]
    for step in zip(bytes, bytes.dropFirst()).map({ $1 &- $0 }) { counts[step, default: 0] += 1 }
    return (counts.values.max() ?? 0) * sameSteps.of >= (bytes.count - 1) * sameSteps.count
  }

  /// A longer run of one byte as a single one.
  private static func withoutRuns(_ bytes: [UInt8]) -> [UInt8] {
    var kept: [UInt8] = []
    var rest = bytes[...]
    while let first = rest.first {
      let run = rest.prefix { $0 == first }
      kept += run.count > longestRun ? run.prefix(1) : run
      rest = rest.dropFirst(run.count)
    }
    return kept
  }
}

extension [UInt8] {
  /// Every occurrence, in upper and lower case of ASCII alike. A name too short to tell anything stays.
  fileprivate func removing(name: String) -> [UInt8] {
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

  /// Upper and lower case of ASCII alike: the next guess after "alice" is "Alice".
  func contains(name: String) -> Bool {
    let name = Array(name.utf8)
    guard name.count >= ProfileTouchID.shortestTellingName, name.count <= count else { return false }
    return (0...(count - name.count)).contains { start in
      zip(self[start...], name).allSatisfy { $0.lowercased == $1.lowercased }
    }
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
  fileprivate var isPadding: Bool { self == 0 || self == UInt8(ascii: "0") }
  fileprivate var lowercased: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}
