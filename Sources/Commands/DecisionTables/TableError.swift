// The errors of a table file, with their places.

/// A place in a table file, as editors count: from 1, columns in Unicode scalars.
public struct TablePosition: Sendable, Hashable, CustomStringConvertible {
  public var line: Int
  public var column: Int

  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  /// "12:5".
  public var description: String { "\(line):\(column)" }
}

/// One unreadable part.
public struct TableError: Error, Sendable, Hashable, CustomStringConvertible {
  public var position: TablePosition
  public var message: String

  /// "12:5: no such word …", to follow the file's name and a colon.
  public var description: String { "\(position): \(message)" }
}

/// All errors of one file, in order; never empty.
public struct TableErrors: Error, Sendable, Hashable {
  public var errors: [TableError]

  /// Reports at most so many. The others appear after these are mended.
  public static let maximumCount = 20

  public init(_ errors: [TableError]) {
    self.errors = errors
  }
}
