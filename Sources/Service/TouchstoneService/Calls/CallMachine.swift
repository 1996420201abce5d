// The flow of a call as a value: events go in, steps come out.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The flow of a call whose person waits for it at each login.
///
/// Pure: it has no clock, no I/O and no lock. What it learnt stays in it, so after a conflict it reads again and
/// repeats nothing that stays true. `CallRunner` performs the steps.
protocol CallMachine: Sendable {
  associatedtype Answer: CallAnswer

  /// The count of the latest commit at an unknown name (R37). It is noted when the commit is durable. There is no
  /// default: the toolchain's extractor of symbols (6.3.1) cannot read a property in an extension of this protocol.
  var nameCount: NameCount? { get }

  mutating func began() -> CallStep<Answer>
  mutating func read(_ subject: SharedRecord<Subject>, at moment: Moment) -> CallStep<Answer>
  mutating func found(_ records: AttemptRecords, at moment: Moment) -> CallStep<Answer>
  mutating func verified(_ isValid: Bool, at moment: Moment) -> CallStep<Answer>
  /// - Parameter hasPermit: the permit that was waited for is there.
  mutating func locked(hasPermit: Bool) -> CallStep<Answer>
  mutating func permitted() -> CallStep<Answer>
  mutating func hashed(_ verdict: SecretVerdict) -> CallStep<Answer>
  mutating func unlocked() -> CallStep<Answer>
  /// A record changed since it was read, and nothing was committed.
  mutating func conflicted() -> CallStep<Answer>
  mutating func committed() -> CallStep<Answer>
}

extension CallMachine {
  mutating func read(_ subject: SharedRecord<Subject>, at moment: Moment) -> CallStep<Answer> {
    preconditionFailure("this flow reads no subject")
  }

  mutating func found(_ records: AttemptRecords, at moment: Moment) -> CallStep<Answer> {
    preconditionFailure("this flow looks for no passkey")
  }

  mutating func verified(_ isValid: Bool, at moment: Moment) -> CallStep<Answer> {
    preconditionFailure("this flow verifies no signature")
  }

  mutating func locked(hasPermit: Bool) -> CallStep<Answer> { preconditionFailure("this flow locks nothing") }
  mutating func permitted() -> CallStep<Answer> { preconditionFailure("this flow asks for no permit") }
  mutating func hashed(_ verdict: SecretVerdict) -> CallStep<Answer> { preconditionFailure("this flow hashes nothing") }
  mutating func unlocked() -> CallStep<Answer> { preconditionFailure("this flow locks nothing") }
}

/// The next step of a flow, and the event that follows it.
enum CallStep<Answer: CallAnswer>: Sendable {
  /// → `read`
  case read(SubjectQuery)
  /// → `found`
  case find(SubjectQuery)
  /// → `verified`, with the other signatures of this pass of the event loop
  case verify(SignatureCheck)
  /// → `verified`, on another thread: it takes long
  case verifyApart(ApartCheck)
  /// → `committed`, or `conflicted`
  case commit(Commitment)
  /// → `locked`, when it is this call's turn at the secret
  case lock(SecretName)
  /// → `locked`, before all that only want to begin
  case lockForVerdict(SecretName)
  /// → `permitted`; or, if it must be waited for, the lock ends and → `locked` with the permit
  case permit(SecretName)
  /// → `permitted`, now or later, without a lock
  case permitChange(SecretName)
  /// The lock and the permit end. → `locked`, when another attempt at the secret has its verdict, or soon
  case wait
  /// → `hashed`, with the permit, which ends
  case hash(SecretWork)
  /// → `unlocked`. `hasVerdict`: calls that wait for one look again.
  case unlock(hasVerdict: Bool)
  /// → `began`, as after a conflict
  case again
  /// The last one.
  case answer(Answer)
  /// The last one.
  case refuse(RequestError)
  /// The last one: stored key material is damaged.
  case fail(CryptoError)
}

/// The commit that must be durable before an answer.
enum Commitment: Sendable {
  case changes(ChangeSet)
  /// Nothing is written: the answer still rests on records that must be durable.
  case nothing
  /// Its event may be left out.
  indirect case refusal(ThrottledEvent)
}

/// The end of a flow: what is committed, and the answer or the error that follows.
struct CallEnding<Answer: CallAnswer>: Sendable {
  let commitment: Commitment
  let result: Result<Answer, RequestError>

  /// After the commit.
  var step: CallStep<Answer> {
    switch result {
    case .success(let answer): .answer(answer)
    case .failure(let error): .refuse(error)
    }
  }
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
