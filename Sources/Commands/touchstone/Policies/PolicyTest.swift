// `touchstone policy test`: runs decision tables against the policies of a configuration.

internal import ArgumentParser
internal import CommandProgram
internal import DecisionTables
internal import TouchstonePolicy
internal import TouchstoneServer

extension Policy {
  struct Test: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Run decision tables against the policies.",
      discussion: """
        Prints each difference between the rules and a row, as FILE:LINE:COLUMN: CASE: COLUMN is ANSWER, not EXPECTATION, \
        and exits with 1; with 0 if all rows pass. If a file cannot be read (66) or is no decision table (65), it runs no \
        row of any file. The format is described in docs/POLICIES.md; \
        deploy/policies.example.md is an example.
        """)

    @OptionGroup var source: Source

    @Argument(help: ArgumentHelp("Markdown files with decision tables.", valueName: "file"), completion: .file())
    var files: [String]

    func perform() throws(Failure) {
      let policies = try source.readPolicies()
      let tables = try TableFile.readAll(files, policies: policies)
      let differences = tables.flatMap { file in file.tables.run().map { "\(file.path):\($0)" } }
      for line in differences { printLine(line) }
      printLine(Self.summary(of: tables, differences: differences.count))
      if !differences.isEmpty { Program.end(ExitStatus.difference.rawValue) }
    }

    private static func summary(of files: [TableFile], differences: Int) -> String {
      let rows = files.reduce(0) { $0 + $1.tables.tables.reduce(0) { $0 + $1.rows.count } }
      let found = differences == 0 ? "all as expected" : counted(differences, "difference")
      return "\(counted(rows, "row")) in \(counted(files.count, "file")): \(found)"
    }
  }
}

/// A file of decision tables, with the name that the user gave.
struct TableFile {
  let path: String
  let tables: DecisionTableFile

  /// Reads all files, or throws every error in any of them.
  static func readAll(_ paths: [String], policies: [EvaluationPolicy]) throws(Failure) -> [TableFile] {
    var files: [TableFile] = []
    var errors: [String] = []
    for path in paths {
      let text = try readText(path, maximumBytes: TableDocument.maximumBytes)
      do throws(TableErrors) {
        files.append(TableFile(path: path, tables: try DecisionTableFile(text, policies: policies)))
      } catch {
        errors += error.errors.map { "\(path):\($0)" }
      }
    }
    guard errors.isEmpty else { throw Failure(kind: .corruptData, places: errors) }
    return files
  }
}
