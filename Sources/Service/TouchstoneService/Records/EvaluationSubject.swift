// Whom an evaluation is about, as the caller names it, and the reading of that subject's records.

internal import TouchstoneStore

/// The name that the caller gave for an evaluation.
enum EvaluationSubject: Sendable, Hashable {
  case binding(String)
  /// For a person without a bound device.
  case profile(String)
  /// A ProfileTouchID will identify the person.
  case bearer

  /// The caller gives at most one of the two; the other one is empty.
  init(bindingID: String, profileID: String) {
    self = !bindingID.isEmpty ? .binding(bindingID) : !profileID.isEmpty ? .profile(profileID) : .bearer
  }

  /// The id that the caller gave; empty for a ProfileTouchID's bearer.
  var name: String {
    switch self {
    case .binding(let id), .profile(let id): id
    case .bearer: ""
    }
  }

  var bindingID: String? {
    if case .binding(let id) = self { id } else { nil }
  }
}

/// The question for the records of an evaluation's subject.
struct SubjectQuery: Sendable {
  var named: EvaluationSubject
  /// The digest of the ProfileTouchID that is shown, or of a passkey's credential id; the active binding that has it is
  /// the bearer's. No binding's digest is empty.
  var digest: [UInt8] = []
  var applicationID: String
  /// `nil`: none is read.
  var evaluation: ExpiringKey?
}

extension TouchstoneService {
  func records(_ query: SubjectQuery, completion: @escaping @Sendable (Result<AttemptRecords, StoreError>) -> Void) {
    let applicationID = query.applicationID
    let (subject, vendor): (AttemptSubject, Vendor) =
      switch query.named {
      case .binding(let id): (.binding(applicationID: applicationID, bindingID: id), vendor(of: applicationID))
      case .profile(let id): (.profile(applicationID: applicationID, profileID: id), .everybody)
      case .bearer:
        (.profileTouchID(applicationID: applicationID, digest: query.digest), vendor(of: applicationID))
      }
    store.attemptRecords(for: subject, vendor: vendor, evaluation: query.evaluation, completion: completion)
  }

  func subject(_ named: EvaluationSubject, of records: AttemptRecords) -> Subject {
    switch named {
    case .binding: Subject(ofBinding: records)
    case .profile: Subject(ofProfile: records, unknownNames)
    case .bearer: Subject(ofBearer: records)
    }
  }

  func subject<Response>(
    _ query: SubjectQuery, for exchange: Exchange<Response>
  ) async throws(RequestError) -> Subject {
    let part = exchange.begin(.read)
    let records: AttemptRecords = try await exchange.value { self.records(query, completion: $0) }
    part?.end()
    return subject(query.named, of: records)
  }

  /// Reads the records once, for a call that writes nothing, and runs `body` on the call's event loop. Ask
  /// `subjectAtHand` before.
  func read<Response>(
    _ query: SubjectQuery, for exchange: Exchange<Response>, _ body: @escaping @Sendable (Subject) -> Void
  ) {
    let part = exchange.begin(.read)
    records(query) { [self] result in
      exchange.onLoop {
        part?.end()
        switch result {
        case .success(let records): body(self.subject(query.named, of: records))
        case .failure(let error): exchange.refuse(exchange.logged(error))
        }
      }
    }
  }

  /// The subject where it needs no wait, and so no closure: a binding that the store has at hand, or nobody. `nil`:
  /// read it.
  func subjectAtHand<Response>(
    _ query: SubjectQuery, for exchange: Exchange<Response>
  ) throws(RequestError) -> Subject? {
    switch query.named {
    case .bearer: return .unnamed(in: query.applicationID)
    case .profile: return nil
    case .binding(let bindingID):
      let part = exchange.begin(.read)
      do throws(StoreError) {
        let records = try store.attemptRecordsAtHand(
          ofBinding: bindingID, applicationID: query.applicationID, vendor: vendor(of: query.applicationID))
        guard let records else { return nil }
        part?.end()
        return Subject(ofBinding: records)
      } catch {
        throw exchange.logged(error)
      }
    }
  }
}
