// The files and forms of the report, and the view while the load runs.

internal import ArgumentParser
internal import Glibc
internal import LoadModel

struct Outputs: ParsableArguments {
  @Flag(help: "One JSON object on stdout instead of a table.")
  var json = false

  @Option(help: ArgumentHelp("Write the report as one HTML page.", valueName: "file"), completion: .file())
  var html: String?

  @Flag(help: "Nothing on stderr while the load runs.")
  var quiet = false

  /// Scripts that read JSON from a pipe get no plain lines on stderr.
  var liveView: LiveView? {
    quiet || (json && isatty(STDERR_FILENO) == 0) ? nil : LiveView()
  }

  func write(_ report: LoadReport) throws(LoadError) {
    if let html { try TextFile.write(report.html, to: html) }
    print(json ? report.json : report.text)
  }
}
