// What is wrong with a table file, and where.

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

/// One thing that cannot be read.
public struct TableError: Error, Sendable, Hashable, CustomStringConvertible {
  public var position: TablePosition
  public var message: String

  public init(position: TablePosition, message: String) {
    self.position = position
    self.message = message
  }

  /// "12:5: no such word …", to go behind the file's name and a colon.
  public var description: String { "\(position): \(message)" }
}

/// All that is wrong with one file, in its order; never empty.
public struct TableErrors: Error, Sendable, Hashable {
  public var errors: [TableError]

  /// More are not reported: whoever mends these sees the rest.
  public static let maximumCount = 20

  public init(_ errors: [TableError]) {
    self.errors = errors
  }
}
