// The files and directories that a configuration names. `check-config` checks them, too.

internal import DispatchRPC
internal import FilePermissions
internal import TouchstoneStore

extension ProcessConfiguration {
  /// Reads the files that a start would read, except for the keys. Opens no store.
  package func checkReferredFiles() throws(Failure) {
    var lines = (directoryFailures + (try socketFailures())).flatMap(\.lines)
    do throws(Failure) {
      _ = try loadTLS()
    } catch {
      lines.insert(contentsOf: error.lines, at: 0)
    }
    do throws(Failure) {
      _ = try loadTraceAuthorities()
    } catch {
      lines += error.lines
    }
    do throws(Failure) {
      _ = try loadAttestationTrust()
    } catch {
      lines += error.lines
    }
    guard lines.isEmpty else { throw Failure(kind: .badConfiguration, places: lines) }
  }

  /// The same check as when a start opens the store, and when it archives. A missing directory is made later, with mode 0700.
  private var directoryFailures: [Failure] {
    var directories: [(setting: String, path: String)] = []
    if store.isInDataDirectory { directories.append(("data_dir", dataDirectory)) }
    if let archive = retention?.archive { directories.append(("retention.archive", archive)) }
    return directories.compactMap { setting, path in
      (FileProtection.violation(at: path, .writes) ?? FileProtection.violation(onTheWayTo: path)).map { violation in
        failure(of: setting, at: path, violation)
      }
    }
  }
}
