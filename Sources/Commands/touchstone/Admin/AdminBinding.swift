// `touchstone admin binding …`: which device may act for which profile.

internal import ArgumentParser
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec

struct AdminBinding: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "binding", abstract: "Which device may act for which profile.",
    subcommands: [List.self, Show.self, Revoke.self])

  struct List: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "List a profile's bindings, by their ids.",
      discussion: "With --json: a Binding in each line. An unknown profile has none.")

    @OptionGroup var profile: ProfileArguments

    @Flag(help: "Also those that were revoked.")
    var revoked = false

    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      var request = V1.ListBindingsRequest(
        applicationID: profile.applicationID, profileID: profile.profileID, includeRevoked: revoked,
        pageSize: Self.pageSize)
      var bindings: [V1.Binding] = []
      repeat {
        let page = try await session.call(session.client.listBindings, request)
        bindings += page.bindings
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      guard session.isJSON else { return session.print(BindingSheet.table(bindings, session)) }
      for binding in bindings { try session.printJSON(binding) }
    }

    /// The service's maximum.
    private static let pageSize: UInt32 = 100
  }

  struct BindingArguments: ParsableArguments, Sendable {
    @Argument(help: ArgumentHelp("The application's id.", valueName: "application"))
    var applicationID: String

    @Argument(help: ArgumentHelp("The binding's id, as `admin profile show` has it.", valueName: "binding"))
    var bindingID: String
  }

  struct Show: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show a binding, and what was proven of its keys.", discussion: "With --json: a Binding.")

    @OptionGroup var binding: BindingArguments
    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      let request = V1.GetBindingRequest(applicationID: binding.applicationID, bindingID: binding.bindingID)
      let found = try await session.call(session.client.getBinding, request).binding ?? V1.Binding()
      if session.isJSON { return try session.printJSON(found) }
      for line in aligned(BindingSheet.rows(found, session)) { printLine(line) }
    }
  }

  struct Revoke: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revoke a binding, at once and for good.",
      discussion: """
        For a phone that was lost or stolen. The person binds the phone anew if it is found. If a phone is only locked, use \
        `admin device unlock`. May be repeated.
        """)

    @OptionGroup var binding: BindingArguments
    @OptionGroup var reason: ReasonOption
    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      let answer = try await session.call(
        session.client.revokeBinding,
        V1.RevokeBindingRequest(
          applicationID: binding.applicationID, bindingID: binding.bindingID, reason: reason.reason))
      if session.isJSON { return try session.printJSON(answer) }
      printLine("binding \(shown(binding.bindingID)): revoked")
    }
  }
}
