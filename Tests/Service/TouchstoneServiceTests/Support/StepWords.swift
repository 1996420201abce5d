import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

extension CallStep {
  /// For tests of machines: "commit evaluation.succeeded".
  var words: String {
    switch self {
    case .read: "read"
    case .find: "find"
    case .verify, .verifyApart: "verify"
    case .commit(.changes(let changeSet)):
      changeSet.events.isEmpty ? "commit" : "commit \(changeSet.events.map(\.kind).joined(separator: " "))"
    case .commit(.refusal(let refusal)): "refuse \(refusal.event.kind)"
    case .commit(.nothing): "confirm"
    case .lock: "lock"
    case .lockForVerdict: "lock for verdict"
    case .permit: "permit"
    case .permitChange: "permit change"
    case .wait: "wait"
    case .hash: "hash"
    case .unlock(let hasVerdict): hasVerdict ? "unlock with verdict" : "unlock"
    case .again: "again"
    case .answer(let answer): "answer \((answer as? any AnswerWords)?.words ?? "\(answer)")"
    case .refuse(let error): "refuse \(error.reason ?? "")"
    case .fail: "fail"
    }
  }
}

private protocol AnswerWords {
  var words: String { get }
}

extension AttemptAnswer: AnswerWords {
  fileprivate var words: String {
    switch self {
    case .decided(let attempt): "\(attempt.decision.outcome)"
    case .invalidContext(let refusal): "\(refusal)"
    }
  }
}
