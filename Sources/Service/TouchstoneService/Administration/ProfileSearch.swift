// FindProfiles: finds people by what support staff type or paste. It lists people, so each search is bounded and an
// event.

internal import DispatchRPC
internal import Encodings
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension TouchstoneService {
  /// As many as a person compares.
  static let maximumFoundProfiles = 20

  @Sendable func findProfiles(
    _ request: V1.FindProfilesRequest, _ exchange: Exchange<V1.FindProfilesResponse>
  ) async throws(RequestError) -> V1.FindProfilesResponse {
    var validator = RequestValidator()
    validator.application(request.applicationID)
    let text = SearchText(request.text)
    if let reason = text.violation(asPrefix: request.prefix) { validator.refuse("text", reason) }
    try validator.finish()
    let caller = exchange.caller
    guard searchLimit.withLock({ $0.admits(caller.identity, at: monotonicClock()) }) else {
      let event = EventDraft.profile(
        .refused, applicationID: request.applicationID, reason: RequestError.Reason.tooManySearches, caller: caller,
        time: clock())
      try await refuse(.tooManySearches(of: caller), recording: ThrottledEvent(event), for: exchange)
      throw .tooManyRounds
    }
    for _ in DecisionRound.all {
      let response = try await search(text, request, for: exchange)
      // The log names the person if there is one, whose profile must not be erased meanwhile.
      let named = request.prefix || response.profiles.count != 1 ? nil : response.profiles.first?.profileID
      let profile: ProfileRecord? =
        if let named { try await profile(ProfileName(request.applicationID, named), for: exchange) } else { nil }
      let event = EventDraft.profile(
        .searched, applicationID: request.applicationID, profileID: profile?.eventName.profileID ?? "",
        searchedBy: request.prefix ? "prefix" : "id", found: response.profiles.count, caller: caller,
        time: clock())
      let changes = profile.map { [Change.require($0)] } ?? []
      if try await commit(ChangeSet(changes: changes, events: [event]), for: exchange) { return response }
    }
    throw .tooManyRounds
  }

  private func search(
    _ text: SearchText, _ request: V1.FindProfilesRequest, for exchange: Exchange<V1.FindProfilesResponse>
  ) async throws(RequestError) -> V1.FindProfilesResponse {
    for candidate in text.candidates {
      let response =
        request.prefix
        ? try await profiles(beginningWith: candidate, in: request.applicationID, for: exchange)
        : try await profiles(named: candidate, in: request.applicationID, for: exchange)
      if !response.profiles.isEmpty { return response }
    }
    return V1.FindProfilesResponse()
  }

  private func profiles(
    beginningWith prefix: String, in applicationID: String, for exchange: Exchange<V1.FindProfilesResponse>
  ) async throws(RequestError) -> V1.FindProfilesResponse {
    guard Identifier.violation(in: prefix) == nil else { return V1.FindProfilesResponse() }
    let ids = try await exchange.value {
      store.profileIDs(
        applicationID: applicationID, from: prefix, limit: Self.maximumFoundProfiles + 1, completion: $0)
    }.prefix { $0.utf8.starts(with: prefix.utf8) }
    return V1.FindProfilesResponse(
      profiles: ids.prefix(Self.maximumFoundProfiles).map { V1.FoundProfile(profileID: $0, foundBy: .prefix) },
      hasMore: ids.count > Self.maximumFoundProfiles)
  }

  private func profiles(
    named id: String, in applicationID: String, for exchange: Exchange<V1.FindProfilesResponse>
  ) async throws(RequestError) -> V1.FindProfilesResponse {
    var found: [V1.FoundProfile] = []
    func add(_ binding: BindingRecord?, _ by: V1.FoundBy) {
      guard let binding else { return }
      found.append(V1.FoundProfile(profileID: binding.profileID, foundBy: by, bindingID: binding.bindingID))
    }
    if Identifier.violation(in: id) == nil {
      if try await profile(ProfileName(applicationID, id), for: exchange).version > 0 {
        found.append(V1.FoundProfile(profileID: id, foundBy: .profileID))
      }
      let query = SubjectQuery(named: .binding(id), applicationID: applicationID)
      add(try await exchange.value { records(query, completion: $0) }.binding, .bindingID)
      add(
        try await exchange.value { store.activeBinding(applicationID: applicationID, deviceID: id, completion: $0) },
        .deviceID)
    }
    if let credentialID = Base64.decode(ofEitherAlphabet: id) {
      let digest = PasskeyRecord.digest(ofCredentialID: credentialID)
      let query = SubjectQuery(named: .bearer, digest: digest, applicationID: applicationID)
      add(try await exchange.value { records(query, completion: $0) }.binding, .credentialID)
    }
    return V1.FindProfilesResponse(profiles: found)
  }
}

/// How many searches each caller may still make. Each replica has its own count. Pure.
struct SearchLimit {
  /// A person looks at each answer; a help desk's program serves several.
  static let burst = 60
  /// Ten million people take six days to list, and each search of them is an event.
  static let interval = Duration.seconds(1)
  static let operatorInterval = Duration.seconds(5)
  /// More are only of callers that a reload took away.
  static let maximumCallers = 1_024

  private var callers: [String: EventBucket] = [:]

  mutating func admits(_ caller: String, at now: MonotonicTime) -> Bool {
    if callers.count >= Self.maximumCallers { callers = callers.filter { $0.value.isFullAt > now } }
    guard callers[caller] != nil || callers.count < Self.maximumCallers else { return false }
    let interval = Caller.isOperator(caller) ? Self.operatorInterval : Self.interval
    return callers[caller, default: EventBucket(isFullAt: now)].admit(at: now, burst: Self.burst, interval: interval)
      != nil
  }
}

extension RequestError {
  fileprivate static func tooManySearches(of caller: Caller) -> RequestError {
    RequestError(
      code: .resourceExhausted, message: "too many searches for profiles; try again later",
      reason: Reason.tooManySearches,
      quota: Quota(subject: .caller(caller), limit: "\(SearchLimit.burst) searches at once, and then one now and then"))
  }
}

extension RequestError.Reason {
  fileprivate static let tooManySearches = "TOO_MANY_SEARCHES"
}
