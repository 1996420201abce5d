// The version of a store's tables, by which a process decides whether it can use them.

/// The version of a store's tables, such as 2.1: the tables, and the additions to them.
///
/// An addition is a change with which an earlier build goes on: a new table, or a new column with a default. An earlier
/// build writes no value into it, so what it holds may be missing. Any other change gives the tables the next number,
/// and the earlier build refuses them.
package struct SchemaVersion: Sendable, Hashable, CustomStringConvertible {
  package var tables: Int64
  package var additions: Int64

  package init(tables: Int64, additions: Int64) {
    (self.tables, self.additions) = (tables, additions)
  }

  package var description: String { "\(tables).\(additions)" }

  /// Whether the tables have all that a build of that version uses.
  package func serves(_ build: SchemaVersion) -> Bool {
    tables == build.tables && additions >= build.additions
  }
}
