// Texts that people write: decision tables.

import DecisionTables
import TouchstonePolicy

extension FuzzTarget {
  /// Tables or errors with their places; those that can be read can be run.
  static let decisionTables = FuzzTarget("decision-tables", maximumBytes: 4 << 10) { input in
    let text = String(decoding: input, as: UTF8.self)
    do throws(TableErrors) {
      _ = try DecisionTableFile(text, policies: EvaluationPolicy.builtIn).run()
    } catch {
      require(!error.errors.isEmpty, "a file is refused for no reason")
    }
  }
}
