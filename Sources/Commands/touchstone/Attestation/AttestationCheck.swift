// `touchstone attestation check`: why a phone's proof is accepted or refused.

internal import ArgumentParser
internal import CommandProgram
internal import Encodings
internal import FoundationEssentials
internal import TerminalText
internal import TouchstoneAttestation
internal import TouchstoneServer
internal import TouchstoneService

struct AttestationCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "attestation", abstract: "Proofs of keys.", subcommands: [Check.self])

  struct Check: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Judge attestations, certificate chains, registrations and assertions.",
      discussion: """
        Prints a line for each proof: accepted, refused or unsupported, with its level, or the reason. The files are JSON: one \
        case, or an array of cases (docs/ATTESTATION.md). It judges the proof alone: signatures, certificates, format and \
        challenge. With --policy it adds what an application demands: level, app, phone and passkey. Exits with 0 if all are accepted, or come out as their "expect" says; otherwise with 1.
        """)

    @Option(
      help: ArgumentHelp("Judge as of this time, instead of each case's verify_at or now.", valueName: "RFC 3339"))
    var at: String?

    @Option(
      name: .customLong("roots"),
      help: ArgumentHelp("Certificates in PEM that passkeys' authenticators must lead to.", valueName: "file"),
      completion: .file())
    var roots: [String] = []

    @Option(
      help: ArgumentHelp("FIDO's metadata, by which authenticators' models are judged.", valueName: "file"),
      completion: .file())
    var metadata: String?

    @Option(
      name: .customLong("metadata-root"),
      help: ArgumentHelp("Certificates in PEM that the signer of --metadata must lead to.", valueName: "file"),
      completion: .file())
    var metadataRoot: String?

    @Option(
      help: ArgumentHelp("Google's list of revoked certificates, as JSON, beside each case's own.", valueName: "file"),
      completion: .file())
    var revoked: String?

    @Option(
      help: ArgumentHelp(
        "A configuration: an application's demands, and the roots, revoked certificates and metadata in force.",
        valueName: "file"), completion: .file())
    var policy: String?

    @Option(help: ArgumentHelp("The application; needed if --policy has several.", valueName: "name"))
    var application: String?

    @Flag(help: "Print each verdict as a line of JSON.")
    var json = false

    @Argument(help: ArgumentHelp("Cases.", valueName: "file"), completion: .file())
    var files: [String]

    func validate() throws {
      if application != nil, policy == nil { throw ValidationError("--application needs --policy") }
      if metadataRoot != nil, metadata == nil { throw ValidationError("--metadata-root needs --metadata") }
    }

    func perform() throws(Failure) {
      let read = try policy.map { path throws(Failure) in try ProcessConfiguration.load(path, from: .anybody) }
      let trust = try read?.loadAttestationTrust() ?? AttestationTrust()
      let judge = ProofJudge(
        anchors: try anchors(trust), revoked: try revokedSerialNumbers().union(trust.revokedSerialNumbers),
        requirements: try requirements(read), time: try time())
      var verdicts: [ProofVerdict] = []
      for file in files { verdicts += try judge.judgeFile(file) }
      // Much of it is a phone's own text.
      for verdict in verdicts { printLine(json ? printable(json: verdict.json) : printable(verdict.line)) }
      if !verdicts.allSatisfy(\.asExpected) { Program.end(ExitStatus.difference.rawValue) }
    }

    private func anchors(_ trust: AttestationTrust) throws(Failure) -> TrustAnchors {
      var anchors: TrustAnchors
      do throws(ProofError) { anchors = try trust.anchors() } catch {
        preconditionFailure("the built-in roots cannot be read: \(error.detail)")
      }
      for path in roots { anchors.trustAuthenticators(by: try certificates(path)) }
      if let metadata { anchors.metadata = try readMetadata(metadata) }
      return anchors
    }

    private func certificates(_ path: String) throws(Failure) -> [Certificate] {
      let text = try readText(path, maximumBytes: ProofJudge.maximumFileBytes)
      do throws(ProofError) { return try Certificate.readPEM(text) } catch {
        throw Failure(kind: .corruptData, message: "\(path): \(error.detail)")
      }
    }

    private func readMetadata(_ path: String) throws(Failure) -> AuthenticatorMetadata {
      let text = try readText(path, maximumBytes: AuthenticatorMetadata.maximumBytes)
      let named = try metadataRoot.map { path throws(Failure) in try certificates(path) }
      let now = try time() ?? Int(Date.now.timeIntervalSince1970)
      do throws(ProofError) {
        guard let named else {
          return try .read(Array(text.utf8), roots: try AuthenticatorMetadata.builtInRoots(), at: now)
        }
        return try .read(Array(text.utf8), roots: named, at: now)
      } catch {
        throw Failure(
          kind: .corruptData,
          message: "\(path): not FIDO's metadata, signed: \(error.reason.rawValue): \(error.detail)")
      }
    }

    private func revokedSerialNumbers() throws(Failure) -> Set<String> {
      guard let revoked else { return [] }
      let text = try readText(revoked, maximumBytes: ProofJudge.maximumFileBytes)
      do {
        return try RevocationList(json: Array(text.utf8)).serialNumbers
      } catch {
        throw Failure(
          kind: .corruptData, message: "\(revoked): not the JSON of a list of revoked certificates: \(error)")
      }
    }

    private func requirements(_ read: ProcessConfiguration?) throws(Failure) -> AttestationRequirements? {
      guard let policy, let read else { return nil }
      for warning in read.warnings { printError(warning) }
      let names = read.service.applications.keys.sorted()
      if application == nil, names.count != 1 {
        throw Failure(
          kind: .usage, message: "\(policy) has \(counted(names.count, "application")): name one by --application")
      }
      let name = application ?? names[0]
      guard let found = read.service.applications[name] else {
        let hint = suggestion(for: name, among: names)
        throw Failure(kind: .usage, message: "\(policy) has no application \(name.debugDescription)\(hint)")
      }
      return found
    }

    private func time() throws(Failure) -> Int? {
      guard let at else { return nil }
      // Strictly: a day or an hour that does not exist is none.
      guard let seconds = CalendarTime.read(instant: at) else {
        throw Failure(kind: .usage, message: "--at \(at): not a time such as 2026-11-22T12:00:00Z")
      }
      return Int(seconds)
    }
  }
}

extension ProofJudge {
  fileprivate func judgeFile(_ path: String) throws(Failure) -> [ProofVerdict] {
    let data = Data(try readText(path, maximumBytes: ProofJudge.maximumFileBytes).utf8)
    let cases: [ProofCase]
    do {
      cases = try ProofCase.read(data)
    } catch {
      throw Failure(kind: .corruptData, message: "\(path): not the JSON of cases: \(error)")
    }
    var verdicts: [ProofVerdict] = []
    for test in cases {
      do throws(CaseError) { verdicts += try judge(test) } catch {
        throw Failure(kind: .corruptData, message: "\(path): \(test.id): \(error.member) is missing or wrong")
      }
    }
    return verdicts
  }
}

extension ProofVerdict {
  fileprivate var line: String {
    var parts = [verdict.rawValue, proof, id]
    if let level { parts.append("level=\(level)") }
    parts += facts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    if let reason { parts.append("\(reason): \(detail ?? "")") }
    if !asExpected { parts.append("(not as expected: \(expect ?? "accept"))") }
    return parts.joined(separator: " ")
  }

  fileprivate var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { preconditionFailure("a verdict cannot be encoded") }
    return String(decoding: data, as: UTF8.self)
  }
}
