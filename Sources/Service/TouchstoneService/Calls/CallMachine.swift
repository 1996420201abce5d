// The flow of a call as a value: events go in, steps come out.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The flow of a call whose person waits for it at each login.
///
/// Pure: it has no clock, no I/O and no lock. What it learnt stays in it, so after a conflict it reads again and repeats
/// nothing that stays true. `CallRunner` performs the steps.
protocol CallMachine: Sendable {
  associatedtype Answer: CallAnswer
  typealias Step = CallStep<Answer>

  mutating func began() -> Step
  mutating func read(_ subject: SharedRecord<Subject>, at moment: Moment) -> Step
  mutating func found(_ records: AttemptRecords, at moment: Moment) -> Step
  mutating func verified(_ isValid: Bool, at moment: Moment) -> Step
  /// A record changed since it was read, and nothing was committed.
  mutating func conflicted() -> Step
  mutating func committed() -> Step
}

extension CallMachine {
  mutating func read(_ subject: SharedRecord<Subject>, at moment: Moment) -> CallStep<Answer> {
    preconditionFailure("this flow reads no subject")
  }

  mutating func found(_ records: AttemptRecords, at moment: Moment) -> CallStep<Answer> {
    preconditionFailure("this flow looks for no passkey")
  }

  mutating func verified(_ isValid: Bool, at moment: Moment) -> CallStep<Answer> {
    preconditionFailure("this flow verifies nothing")
  }
}

/// The next step of a flow, and the event that follows it.
enum CallStep<Answer: CallAnswer>: Sendable {
  /// → `read`
  case read(SubjectQuery)
  /// → `found`
  case find(PasskeyQuery)
  /// → `verified`, with the other signatures of this pass of the event loop
  case verify(SignatureCheck)
  /// → `verified`, on another thread: it takes long
  case verifyApart(PasskeyCheck)
  /// → `committed`, or `conflicted`
  case commit(Commitment)
  /// The last one.
  case answer(Answer)
  /// The last one.
  case refuse(RequestError)
  /// The last one: stored key material is damaged.
  case fail(CryptoError)
}

/// What becomes durable before an answer.
enum Commitment: Sendable {
  case changes(ChangeSet)
  /// Its event may be left out.
  indirect case refusal(ThrottledEvent)
}

/// The present, as a flow sees it. It comes with each event, because queues, verification and conflicts take time.
struct Moment: Sendable {
  var now: UnixTime
  /// Policies may be replaced while a call is on its way (R36).
  var policies: PolicyBook
}

/// The result of a flow. It becomes an answer in the shell, which has the keys, the counters and the caller's language.
protocol CallAnswer: Sendable {
  associatedtype Response: WireMessage

  func send(by service: TouchstoneService, to exchange: Exchange<Response>)
}
