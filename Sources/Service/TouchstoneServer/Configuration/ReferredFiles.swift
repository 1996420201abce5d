// The files and directories that a configuration names. `check-config` checks them, too.

internal import DispatchRPC
internal import FilePermissions

extension ProcessConfiguration {
  /// Reads the files that a start would read, except for the keys. Opens no store. Returns warnings, as `warnings` has
  /// them.
  package func checkReferredFiles() throws(Failure) -> [String] {
    var lines = (directoryFailures + (try socketFailures())).flatMap(\.lines)
    var warnings: [String] = []
    do throws(Failure) {
      if let tls = try loadTLS() { warnings = missingIssuer(of: tls) }
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
    do throws(Failure) {
      _ = try console.openID?.load(self)
    } catch {
      lines += error.lines
    }
    guard lines.isEmpty else { throw Failure(kind: .badConfiguration, places: lines) }
    return warnings
  }

  private func missingIssuer(of loaded: RPCServerTLS) -> [String] {
    // The files were read just before.
    guard let tls, let issuer = try? loaded.missingIssuer() else { return [] }
    let warning =
      "warning: tls.certificate \(tls.certificate): its issuer \(issuer) is neither in the file nor a root of this machine: "
      + "if it is an intermediate, append its certificate, because clients do not have it"
    return failure(of: "tls.certificate", warning).lines
  }

  /// The same check as when a start opens the store, and when it archives or backs up. A missing directory is made
  /// later, with mode 0700.
  private var directoryFailures: [Failure] {
    var directories: [(setting: String, path: String)] = []
    if store == .sqlite { directories.append(("data_dir", dataDirectory)) }
    if let backup { directories.append(("backup.to", backup.directory)) }
    if let archive = retention?.archive { directories.append(("retention.archive", archive)) }
    return directories.compactMap { setting, path in
      (FileProtection.violation(at: path, .writes) ?? FileProtection.violation(onTheWayTo: path)).map { violation in
        failure(of: setting, at: path, violation)
      }
    }
  }
}
