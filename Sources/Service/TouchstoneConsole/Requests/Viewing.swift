// Pages that only look: search, profile, events, policies, explanations, health.

internal import DispatchHTTP
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneService

extension Console {
  private static let timelineEvents = 20

  private var known: [String] { state.withLock { $0.applications } }
  private var policies: [EvaluationPolicy] { state.withLock { $0.policies } }

  func home(_ visit: Visit) -> HTTPResponse {
    let reader = visit.reader
    var notices: [String] = []
    // From the session and not from the link, which other sites can write.
    if let notice = visit.session.notice(at: reader.path) {
      notices.append(reader(notice.action, .done))
      if notice.archivedThrough > 0 { notices.append(reader(.archivedThrough, "\(notice.archivedThrough)")) }
    }
    return visit.page(.find(reader, FindView(known: known, maySearch: visit.maySearch, notices: notices)))
  }

  // MARK: Find

  func find(_ visit: Visit) async -> HTTPResponse {
    let application = visit.reader.application
    var view = FindView(
      known: known, maySearch: visit.maySearch, text: visit.field(Form.Field.text),
      isPrefix: visit.field(Form.Field.prefix) == "yes")
    do throws(CallFailure) {
      view.found = try await search(visit, application, view.text, isPrefix: view.isPrefix)
      if view.found.profiles.count == 1, !view.isPrefix, let id = view.found.profiles.first?.profileID {
        return redirect(to: ConsoleLink.profile(application, id))
      }
      guard view.found.profiles.isEmpty else { return visit.page(.find(visit.reader, view)) }
      if !view.isPrefix {
        do throws(CallFailure) {
          view.found = try await search(visit, application, view.text, isPrefix: true)
        } catch {
          // A text that is too short to be a beginning lists nothing.
          guard error.code == .invalidArgument else { throw error }
        }
      }
      view.error = visit.reader(.nothingFound)
      return visit.page(.find(visit.reader, view), .notFound)
    } catch {
      guard let complaint = complaint(error, visit) else {
        return failure(error, visit, back: (.backToSearch, ConsolePath.home))
      }
      view.error = complaint
      return visit.page(.find(visit.reader, view), error.code == .invalidArgument ? .badRequest : .tooManyRequests)
    }
  }

  private func search(
    _ visit: Visit, _ application: String, _ text: String, isPrefix: Bool
  ) async throws(CallFailure) -> V1.FindProfilesResponse {
    try await visit.calls(
      V1.AdministrationService.findProfiles,
      V1.FindProfilesRequest(applicationID: application, text: text, prefix: isPrefix))
  }

  /// A device has one profile in each application. Each of these searches is an event.
  private static let maximumApplicationsOfDevice = 8

  func device(_ visit: Visit) async -> HTTPResponse {
    let (first, id) = (visit.reader.application, visit.field(Form.Field.device))
    let others = (visit.reader.signedIn?.applications ?? known).filter { !$0.utf8.elementsEqual(first.utf8) }
    var holders: [(String, V1.FoundProfile)] = []
    do throws(CallFailure) {
      for application in ([first] + others).prefix(Self.maximumApplicationsOfDevice) {
        let found = try await search(visit, application, id, isPrefix: false)
        holders += found.profiles.filter { $0.foundBy == .deviceID }.map { (application, $0) }
      }
      return visit.page(.device(visit.reader, id, holders))
    } catch {
      return failure(error, visit, back: (.backToSearch, ConsolePath.home))
    }
  }

  // MARK: Profile

  func profile(_ visit: Visit) async -> HTTPResponse {
    let (application, id) = (visit.field(Form.Field.application), visit.field(Form.Field.profile))
    do throws(CallFailure) {
      let policies = policies
      let policy = (policies.named(visit.field("policy")) ?? policies.usual)?.name ?? ""
      let profile: V1.GetProfileResponse = try await visit.calls(
        V1.AdministrationService.getProfile,
        V1.GetProfileRequest(applicationID: application, profileID: id, policy: policy))
      var search = EventSearch([(Form.Field.application, application), (Form.Field.profile, id)])
      search.limit = Self.timelineEvents
      let events = try? await search.run(by: visit.calls)
      return visit.page(
        .profile(
          visit.reader,
          ProfileView(
            applicationID: application, profileID: id, profile: profile, policy: policy, policies: policies.map(\.name),
            events: events,
            actions: Set(ConsoleAction.allCases.filter { visit.operator.mayCall($0.method) }),
            done: visit.session.notice(at: visit.reader.path)?.action, maySearch: visit.maySearch)))
    } catch {
      if error.code == .notFound {
        let view = FindView(
          known: known, maySearch: visit.maySearch, text: id, error: visit.reader(.unknownProfile))
        return visit.page(.find(visit.reader, view), .notFound)
      }
      return failure(error, visit, back: (.backToSearch, ConsolePath.home))
    }
  }

  // MARK: Events

  func events(_ visit: Visit) async -> HTTPResponse {
    var view = EventsView(
      search: EventSearch(visit), isFollowing: visit.field("before").isEmpty && visit.field("follow") == "yes",
      known: known, seesAllApplications: visit.operator.seesAllApplications)
    do throws(CallFailure) {
      view.list = try await view.search.run(by: visit.calls)
      return visit.page(.events(visit.reader, view))
    } catch {
      guard let complaint = complaint(error, visit), error.code == .invalidArgument else {
        return failure(error, visit, back: (.events, ConsolePath.events))
      }
      view.error = complaint
      return visit.page(.events(visit.reader, view), .badRequest)
    }
  }

  /// All events that the form admits, as a file, or none if they are too many.
  func export(_ visit: Visit) async -> HTTPResponse {
    let search = EventSearch(visit)
    let back = (Phrase.events, ConsoleLink.path(ConsolePath.events, search.fields))
    do throws(CallFailure) {
      guard let events = try await search.all(by: visit.calls) else {
        let text = visit.reader(.exportTooLong, "\(EventSearch.maximumExport)")
        return visit.page(.message(visit.reader, .refused, [text], back: back), .contentTooLarge)
      }
      let isTable = visit.field("form") == "csv"
      let lines = isTable ? [EventTable.heading] + events.map(EventTable.line) : try events.map(Self.json)
      return ConsoleResponse.file(isTable ? "events.csv" : "events.jsonl", lines: lines)
    } catch {
      return failure(error, visit, back: back)
    }
  }

  private static func json(_ event: V1.Event) throws(CallFailure) -> String {
    do throws(EncodingError) {
      return try event.json()
    } catch {
      throw CallFailure(code: .internalError, message: "event \(event.sequence): \(error.field) \(error.reason)")
    }
  }

  // MARK: Policies

  func policies(_ visit: Visit) -> HTTPResponse {
    visit.page(.policies(visit.reader, policies))
  }

  func explain(_ visit: Visit) async -> HTTPResponse {
    let policies = policies
    let policy = policies.named(visit.field("policy")) ?? policies.usual
    let input = ExplainInput(visit.fields, policy: policy?.name ?? "")
    var view = ExplainView(input: input, policies: policies.map(\.name), known: known)
    guard !input.isEmpty, policy != nil else { return visit.page(.explain(visit.reader, view)) }
    do throws(CallFailure) {
      let answer = try await visit.calls(
        V1.AdministrationService.explainEvaluation, input.request)
      view.answer = answer
      return visit.page(.explain(visit.reader, view))
    } catch {
      guard let complaint = complaint(error, visit), error.code != .resourceExhausted else {
        return failure(error, visit, back: (.explain, ConsolePath.explain))
      }
      view.error = complaint
      return visit.page(.explain(visit.reader, view), error.code == .notFound ? .notFound : .badRequest)
    }
  }

  // MARK: Health

  func health(_ visit: Visit) async -> HTTPResponse {
    let log = try? await service.auditLogExtent()
    return visit.page(
      .health(visit.reader, HealthView(health: await health(), log: log)))
  }

  // MARK: Failures

  /// For a page that keeps what was typed; `nil` for a failure that no other input mends.
  private func complaint(_ failure: CallFailure, _ visit: Visit) -> String? {
    let titles: [RPCCode: Phrase] = [
      .invalidArgument: .invalid, .notFound: .notFound, .resourceExhausted: .refused,
    ]
    let violations = failure.violations.map { "\(label(of: $0.field, visit.reader)): \($0.description)" }
    let message = violations.isEmpty ? failure.message : violations.joined(separator: "; ")
    return titles[failure.code].map { "\(visit.reader($0)): \(message)" }
  }

  /// How the forms call a request's field.
  private func label(of field: String, _ reader: Reader) -> String {
    let labels: [(field: String, Phrase)] = [
      ("filter.application_id", .application), ("filter.profile_id", .profile), ("filter.kinds", .kind),
      ("filter.device_id", .deviceID), ("filter.binding_id", .bindingID), ("filter.caller", .caller),
      ("filter.reason", .reason), ("since", .since), ("until", .until), ("text", .searchText),
    ]
    return labels.first { field.hasPrefix($0.field) }.map { reader($0.1) } ?? field
  }

  func failure(_ failure: CallFailure, _ visit: Visit, back: (Phrase, String)) -> HTTPResponse {
    let reader = visit.reader
    func page(_ title: Phrase, _ text: String, _ more: String?, _ status: HTTPStatus) -> HTTPResponse {
      visit.page(.message(reader, title, [text, more].compactMap { $0 }, back: back), status)
    }
    switch failure.code {
    case .permissionDenied:
      let isRole = failure.reason == "METHOD_NOT_GRANTED"
      return page(.refused, reader(isRole ? .notGranted : .applicationNotGranted), nil, .forbidden)
    case .invalidArgument: return page(.invalid, reader(.nothingChanged), failure.message, .badRequest)
    case .notFound: return page(.notFound, reader(.unknownProfile), nil, .notFound)
    case .failedPrecondition:
      let why = failure.reason.flatMap(reader.denial)
      return page(.refused, why ?? reader(.nothingChanged), why == nil ? failure.message : nil, .conflict)
    case .deadlineExceeded: return page(.refused, reader(.inDoubt), nil, .unavailable)
    case .unavailable, .resourceExhausted, .aborted:
      return page(.refused, reader(.serviceBusy), failure.message, .unavailable)
    default: return page(.refused, reader(.serviceBusy), failure.message, .serverError)
    }
  }
}

extension ExplainInput {
  fileprivate init(_ fields: FormFields, policy: String) {
    func isChecked(_ name: String) -> Bool { fields[name] == "yes" }
    self.init(
      applicationID: fields[Form.Field.application] ?? "", policy: policy, bindingID: fields["binding"] ?? "",
      profileID: fields[Form.Field.profile] ?? "", platform: fields["platform"] ?? "", osVersion: fields["os"] ?? "",
      biometryType: fields["sensor"] ?? "none", isSensorWorking: isChecked("working"),
      isEnrolled: isChecked("enrolled"), isSensorLocked: isChecked("locked"),
      hasDevicePasscode: isChecked("passcode"))
  }
}
