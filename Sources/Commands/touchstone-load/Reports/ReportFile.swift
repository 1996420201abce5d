// Reports that were written before: a line of JSON for each.

internal import LoadModel

enum ReportFile {
  /// Reads the reports of a file, which has at least one.
  static func reports(_ path: String) throws(LoadError) -> [LoadReport] {
    guard let text = TextFile.read(path) else { throw .unreadable(path) }
    let reports: [LoadReport]
    do {
      reports = try LoadReport.reports(fromJSON: text)
    } catch {
      throw .usage("\(path) is no report of touchstone-load: \(error)")
    }
    guard !reports.isEmpty else { throw .usage("\(path) has no report") }
    if let other = reports.first(where: { $0.schemaVersion != LoadReport.currentSchema }) {
      throw .usage(
        "\(path) has schema version \(other.schemaVersion), and this program reads \(LoadReport.currentSchema)")
    }
    return reports
  }
}
