// Pages that only look: search, profile, events, policies, explanations, health.

internal import DispatchHTTP
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneService

extension Console {
  /// Bindings that are explained on a profile's page: as many as a profile may have by default (R29).
  private static let explainedBindings = 16
  private static let timelineEvents = 20

  private var known: [String] { state.withLock { $0.applications } }
  private var policies: [EvaluationPolicy] { state.withLock { $0.policies } }

  func home(_ visit: Visit) -> HTTPResponse {
    let notice = takeNotice(visit)
    let through = notice?.archivedThrough ?? 0
    return visit.page(
      .search(
        visit.reader, known: known, notice: notice?.action.words.done,
        more: through > 0 ? ConsoleAction.archived(through: through) : nil))
  }

  /// From the session and not from the link, which other sites can write.
  private func takeNotice(_ visit: Visit) -> SessionTable.Notice? {
    state.withLock { $0.sessions.takeNotice(for: visit.key, at: visit.reader.path) }
  }

  // MARK: Profile

  func profile(_ visit: Visit) async -> HTTPResponse {
    let (application, id) = (visit.field(Form.Field.application), visit.field(Form.Field.profile))
    do throws(CallFailure) {
      let profile: V1.GetProfileResponse = try await visit.calls(
        V1.AdministrationService.getProfile, V1.GetProfileRequest(applicationID: application, profileID: id))
      let policies = policies
      let policy = policies.named(visit.field("policy")) ?? policies.usual
      let diagnoses = await diagnoses(of: profile, application, under: policy, visit)
      var search = EventSearch(applicationID: application, profileID: id)
      search.limit = Self.timelineEvents
      let events = try? await search.run(by: visit.calls)
      return visit.page(
        .profile(
          visit.reader,
          ProfileView(
            applicationID: application, profileID: id, profile: profile, diagnoses: diagnoses,
            policy: policy?.name ?? "", policies: policies.map(\.name), events: events,
            actions: Set(ConsoleAction.allCases.filter { visit.operator.mayCall($0.method) }),
            done: takeNotice(visit)?.action, now: clock().seconds)))
    } catch {
      return failure(error, visit, back: (.backToSearch, ConsolePath.home))
    }
  }

  private func diagnoses(
    of profile: V1.GetProfileResponse, _ application: String, under policy: EvaluationPolicy?, _ visit: Visit
  ) async -> [(bindingID: String, diagnosis: LoginDiagnosis)] {
    let active = profile.bindings.filter { $0.state == .active }
    guard let policy, !active.isEmpty else { return [("", .noDevice)] }
    var diagnoses: [(bindingID: String, diagnosis: LoginDiagnosis)] = []
    for binding in active.prefix(Self.explainedBindings) {
      // The service would refuse it, and write an event.
      let isSeen = binding.passkey != nil || profile.postures.contains { $0.bindingID == binding.bindingID }
      var diagnosis = LoginDiagnosis.unknown
      if isSeen {
        let input = ExplainInput(applicationID: application, policy: policy.name, bindingID: binding.bindingID)
        let answer = try? await visit.calls(
          V1.AdministrationService.explainEvaluation, input.request(isPayment: policy.purpose == .payment))
        diagnosis =
          answer.map { LoginDiagnosis($0, policyTakesBiometry: policy.factors.contains(.biometry)) } ?? .unknown
      }
      diagnoses.append((binding.bindingID, diagnosis))
    }
    return diagnoses
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
    guard !input.isEmpty, let policy else { return visit.page(.explain(visit.reader, view)) }
    do throws(CallFailure) {
      let answer = try await visit.calls(
        V1.AdministrationService.explainEvaluation, input.request(isPayment: policy.purpose == .payment))
      view.answer = answer
      view.diagnosis = LoginDiagnosis(answer, policyTakesBiometry: policy.factors.contains(.biometry))
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
    let log = await withCheckedContinuation { continuation in
      service.auditLogExtent { continuation.resume(returning: try? $0.get()) }
    }
    return visit.page(
      .health(visit.reader, HealthView(health: await health(), log: log, sessions: sessionCount)))
  }

  // MARK: Failures

  func failure(_ failure: CallFailure, _ visit: Visit, back: (Phrase, String)) -> HTTPResponse {
    let reader = visit.reader
    func page(_ title: Phrase, _ phrase: Phrase, _ more: String?, _ status: HTTPStatus) -> HTTPResponse {
      visit.page(.message(reader, title, [reader(phrase), more].compactMap { $0 }, back: back), status)
    }
    switch failure.code {
    case .permissionDenied:
      let isRole = failure.reason == "METHOD_NOT_GRANTED"
      return page(.refused, isRole ? .notGranted : .applicationNotGranted, nil, .forbidden)
    case .invalidArgument: return page(.invalid, .nothingChanged, failure.message, .badRequest)
    case .notFound: return page(.notFound, .unknownProfile, nil, .notFound)
    case .failedPrecondition:
      let phrase = failure.reason.flatMap(LoginReasons.denial)
      return page(.refused, phrase ?? .nothingChanged, phrase == nil ? failure.message : nil, .conflict)
    case .deadlineExceeded: return page(.refused, .inDoubt, nil, .unavailable)
    case .unavailable, .resourceExhausted, .aborted:
      return page(.refused, .serviceBusy, failure.message, .unavailable)
    default: return page(.refused, .serviceBusy, failure.message, .serverError)
    }
  }
}

extension [EvaluationPolicy] {
  /// The one that most logins go through.
  fileprivate var usual: EvaluationPolicy? {
    first { $0.name == "login" } ?? first { $0.purpose == .login } ?? first
  }

  fileprivate func named(_ name: String) -> EvaluationPolicy? {
    first { Identifier.areEqual($0.name, name) }
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
