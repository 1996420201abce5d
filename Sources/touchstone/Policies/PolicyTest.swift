// `touchstone policy test`: people's own decision tables, run against their policies.

internal import ArgumentParser
internal import DecisionTables
internal import TouchstonePolicy

extension Policy {
  struct Test: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Run decision tables against the policies.",
      discussion: """
        Prints where the rules answer otherwise than a row expects, as FILE:LINE:COLUMN: CASE: COLUMN is ANSWER, not \
        EXPECTATION, and exits 1; 0 where all rows pass. A file that cannot be read exits 66, one that is no table 65: \
        then no row of any file is run. The format is described in Tests/DecisionTables/README.md; \
        deploy/policies.example.md is an example.
        """)

    @OptionGroup var source: Source

    @Argument(help: ArgumentHelp("Markdown files with decision tables.", valueName: "file"))
    var files: [String]

    func run() throws {
      do throws(Failure) {
        let policies = try source.readPolicies()
        let tables = try TableFile.readAll(files, policies: policies)
        let differences = tables.flatMap { file in file.tables.run().map { "\(file.path):\($0)" } }
        for line in differences { printLine(line) }
        printLine(Self.summary(of: tables, differences: differences.count))
        if !differences.isEmpty { Self.exit(withError: ExitCode(ExitStatus.difference.rawValue)) }
      } catch {
        fail(error)
      }
    }

    private static func summary(of files: [TableFile], differences: Int) -> String {
      let rows = files.reduce(0) { $0 + $1.tables.tables.reduce(0) { $0 + $1.rows.count } }
      let found = differences == 0 ? "all as expected" : counted(differences, "difference")
      return "\(counted(rows, "row")) in \(counted(files.count, "file")): \(found)"
    }

    private static func counted(_ count: Int, _ noun: String) -> String {
      "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
  }
}

/// A file of decision tables, under the name that it was given by.
struct TableFile {
  let path: String
  let tables: DecisionTableFile

  /// All of them, or everything that is wrong with any.
  static func readAll(_ paths: [String], policies: [EvaluationPolicy]) throws(Failure) -> [TableFile] {
    var files: [TableFile] = []
    var errors: [String] = []
    for path in paths {
      let text = try readText(path)
      do throws(TableErrors) {
        files.append(TableFile(path: path, tables: try DecisionTableFile(text, policies: policies)))
      } catch {
        errors += error.errors.map { "\(path):\($0)" }
      }
    }
    guard errors.isEmpty else { throw Failure(status: .corruptData, places: errors) }
    return files
  }

  private static func readText(_ path: String) throws(Failure) -> String {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try readFile(path, maximumBytes: TableDocument.maximumBytes)
    } catch {
      throw Failure(status: .noInput, places: ["\(path): \(error.message)"])
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Failure(status: .corruptData, places: ["\(path): is not UTF-8"])
    }
    return text
  }
}
