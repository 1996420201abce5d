// `touchstone admin profile explain`: why a login fails now, in a sentence for each of the person's devices.

internal import ArgumentParser
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec
internal import TouchstoneService

extension AdminProfile {
  struct Explain: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show whether a login can succeed now, in which ways, or why not.",
      discussion: """
        Prints one line for each active binding. It rests on the device's last report about itself. Another line is for a \
        login that names the profile alone, if that line says more. A line says so if the answer is unknown. With --json, \
        each line is a LoginDiagnosis, also for revoked bindings. With --json and --rules, each line is an \
        ExplainEvaluationResponse. Exits with 0 if the service answered, also if no login can succeed.
        """)

    @OptionGroup var profile: ProfileArguments

    @Option(help: ArgumentHelp("The policy to explain.", valueName: "name"))
    var policy = "login"

    @Option(help: ArgumentHelp("Only this binding.", valueName: "binding"))
    var binding: String?

    @Flag(help: "Print each rule, and the values that it compared.")
    var rules = false

    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      var found = try await session.profile(profile, policy: policy)
      if let binding {
        found.bindings = found.bindings.filter { $0.bindingID == binding && $0.state == .active }
        found.diagnoses = found.diagnoses.filter { $0.bindingID == binding }
        if found.bindings.isEmpty {
          throw AdminFailure(
            .noInput, "profile \(shown(profile.profileID)) has no active binding \(shown(binding))")
        }
      }
      if session.isJSON, !rules {
        for diagnosis in found.diagnoses { try session.printJSON(diagnosis) }
        return
      }
      let report = LoginReport(found)
      if !session.isJSON { session.print(report) }
      if rules { try await printRules(report, session) }
    }

    private func printRules(_ report: LoginReport, _ session: AdminSession) async throws(AdminFailure) {
      for entry in report.entries {
        let bindingID = entry.diagnosis.bindingID
        let name = entry.name(shown: shown, time: session.minuteText)
        guard entry.isSeen else {
          if !session.isJSON { printLine("\n\(name): never seen, so no rule can be shown") }
          continue
        }
        let begin = V1.BeginEvaluationRequest(
          applicationID: profile.applicationID, policy: policy, bindingID: bindingID,
          profileID: bindingID.isEmpty ? profile.profileID : "")
        let explained = try await session.call(
          session.client.explainEvaluation, V1.ExplainEvaluationRequest(begin: begin))
        if session.isJSON {
          try session.printJSON(explained)
          continue
        }
        printLine("\n\(name):")
        session.print(
          TextTable(
            ["RULE", "PASSED", "DETAIL"],
            explained.trace.map { [shown($0.rule), $0.passed.yesOrNo, printable($0.detail)] }))
      }
    }
  }
}
