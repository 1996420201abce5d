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
    return visit.page(.search(reader, known: known, notices: notices))
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
      var search = EventSearch(applicationID: application, profileID: id)
      search.limit = Self.timelineEvents
      let events = try? await search.run(by: visit.calls)
      return visit.page(
        .profile(
          visit.reader,
          ProfileView(
            applicationID: application, profileID: id, profile: profile, policy: policy, policies: policies.map(\.name),
            events: events,
            actions: Set(ConsoleAction.allCases.filter { visit.operator.mayCall($0.method) }),
            done: visit.session.notice(at: visit.reader.path)?.action, now: clock().seconds)))
    } catch {
      return failure(error, visit, back: (.backToSearch, ConsolePath.home))
    }
  }

  // MARK: Events

  func events(_ visit: Visit) async -> HTTPResponse {
    var search = EventSearch(
      applicationID: visit.field(Form.Field.application), profileID: visit.field(Form.Field.profile),
      kindPrefix: visit.field("kind"), before: UInt64(visit.field("before")))
    // An operator of some applications alone sees one of them at a time.
    if search.applicationID.isEmpty, let first = visit.reader.signedIn?.applications?.first {
      search.applicationID = first
    }
    do throws(CallFailure) {
      let list = try await search.run(by: visit.calls)
      return visit.page(
        .events(
          visit.reader,
          EventsView(
            search: search, list: list, isFollowing: search.before == nil && visit.field("follow") == "yes",
            known: known,
            seesAllApplications: visit.operator.seesAllApplications)))
    } catch {
      return failure(error, visit, back: (.events, ConsolePath.events))
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
      guard error.code == .invalidArgument || error.code == .notFound else {
        return failure(error, visit, back: (.explain, ConsolePath.explain))
      }
      view.error = "\(visit.reader(error.code == .notFound ? .notFound : .invalid)): \(error.message)"
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
