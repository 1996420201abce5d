import DispatchRPC
import Testing

@testable import RPCChannel

// gRFC A6: when a call is tried again, and when not.

private let policy = RPCRetryPolicy(
  maximumAttempts: 4, initialBackoff: .milliseconds(100), maximumBackoff: .milliseconds(250), multiplier: 2)

extension RetryStateMachine {
  /// Without throttling, at the middle of the jitter.
  fileprivate mutating func fail(
    _ code: RPCCode = .unavailable, _ progress: RPCProgress = .sent, pushback: AttemptFailure.Pushback = .none,
    jitter: Double = 0
  ) -> OnFailure {
    var throttle: RetryThrottle?
    return attemptFailed(
      AttemptFailure(code: code, progress: progress, pushback: pushback), throttle: &throttle, jitter: jitter)
  }
}

@Suite struct RetryStateMachineTests {
  @Test func waitsGrowUpToTheMaximumAndAttemptsEnd() {
    var machine = RetryStateMachine(policy)
    #expect(machine.fail() == .retry(after: .milliseconds(100)))
    #expect(machine.fail() == .retry(after: .milliseconds(200)))
    #expect(machine.fail() == .retry(after: .milliseconds(250)))
    #expect(machine.fail() == .fail)
    #expect(machine.attempts == 4)
  }

  @Test(arguments: [(-1.0, 80), (1.0, 120)])
  func jitterSpreadsTheWaits(jitter: Double, milliseconds: Int) {
    var machine = RetryStateMachine(policy)
    #expect(machine.fail(jitter: jitter) == .retry(after: .milliseconds(milliseconds)))
  }

  @Test func otherCodesFail() {
    var machine = RetryStateMachine(policy)
    #expect(machine.fail(.internalError) == .fail)
  }

  @Test func neverMoreThanFiveAttempts() {
    #expect(RPCRetryPolicy(maximumAttempts: 100).maximumAttempts == 5)
  }

  @Test func whatBeganToAnswerIsNotRetried() {
    var machine = RetryStateMachine(policy)
    #expect(machine.fail(.unavailable, .answered) == .fail)
  }

  // MARK: Transparent retries

  @Test func whatNeverLeftIsSentAgainWhateverThePolicy() {
    var machine = RetryStateMachine(nil)
    for _ in 0..<RetryStateMachine.mostUnsent { #expect(machine.fail(.unavailable, .unsent) == .repeat) }
    #expect(machine.fail(.unavailable, .unsent) == .fail)
    #expect(machine.attempts == 1)
  }

  @Test func whatWasNotProcessedIsSentAgainOnce() {
    var machine = RetryStateMachine(nil)
    #expect(machine.fail(.unavailable, .unprocessed) == .repeat)
    #expect(machine.fail(.unavailable, .unprocessed) == .fail)
  }

  @Test func theSecondTimeThePolicyDecides() {
    var machine = RetryStateMachine(policy)
    #expect(machine.fail(.unavailable, .unprocessed) == .repeat)
    #expect(machine.attempts == 1)
    #expect(machine.fail(.unavailable, .unprocessed) == .retry(after: .milliseconds(100)))
    #expect(machine.attempts == 2)
  }

  @Test func withoutAPolicyWhatWasSentIsNotRetried() {
    var machine = RetryStateMachine(nil)
    #expect(machine.fail() == .fail)
  }

  // MARK: Pushback

  @Test func theServerSaysWhenAndTheWaitsBeginAnew() {
    var machine = RetryStateMachine(policy)
    #expect(machine.fail() == .retry(after: .milliseconds(100)))
    #expect(machine.fail(pushback: .after(.seconds(9))) == .retry(after: .seconds(9)))
    #expect(machine.fail() == .retry(after: .milliseconds(100)))
  }

  @Test func theServerSaysNever() {
    var machine = RetryStateMachine(policy)
    #expect(machine.fail(pushback: .never) == .fail)
  }

  @Test(
    arguments: [
      ("0", .after(.zero)), ("1500", .after(.milliseconds(1500))), ("-1", .never), ("", .never), ("1.5", .never),
      ("soon", .never), ("99999999999", .never), ("0x10", .never),
    ] as [(String, AttemptFailure.Pushback)])
  func pushbackIsRead(text: String, pushback: AttemptFailure.Pushback) {
    #expect(AttemptFailure.Pushback([("grpc-retry-pushback-ms", text)]) == pushback)
  }

  @Test func severalPushbacksAreMalformed() {
    let metadata: Metadata = [("grpc-retry-pushback-ms", "1"), ("grpc-retry-pushback-ms", "2")]
    #expect(AttemptFailure.Pushback(metadata) == .never)
    #expect(AttemptFailure.Pushback([]) == .none)
  }
}

@Suite struct EarlierErrorTests {
  private let earlier = RPCError(code: .unavailable, message: "not now")

  @Test func aDeadlineTellsOfTheAttemptBefore() {
    let late = RPCError(code: .deadlineExceeded, message: "the deadline passed")
    #expect(late.after(earlier).message == "the deadline passed; the attempt before: UNAVAILABLE: not now")
    #expect(late.after(nil) == late)
  }

  @Test func otherErrorsSpeakForThemselves() {
    let error = RPCError(code: .internalError, message: "broken")
    #expect(error.after(earlier) == error)
  }
}

@Suite struct RetryThrottleTests {
  private func fail(_ machine: inout RetryStateMachine, _ throttle: inout RetryThrottle?, _ failure: AttemptFailure)
    -> RetryStateMachine.OnFailure
  {
    machine.attemptFailed(failure, throttle: &throttle, jitter: 0)
  }

  @Test func halfTheTokensEndRetriesAndSuccessesBringThemBack() {
    var throttle: RetryThrottle? = RetryThrottle(RPCRetryThrottling(maximumTokens: 4, tokenRatio: 0.5))
    let failure = AttemptFailure(code: .unavailable)
    var first = RetryStateMachine(policy)
    #expect(fail(&first, &throttle, failure) != .fail)
    #expect(fail(&first, &throttle, failure) == .fail)
    throttle?.attemptSucceeded()
    var second = RetryStateMachine(policy)
    #expect(fail(&second, &throttle, failure) == .fail)
    for _ in 0..<4 { throttle?.attemptSucceeded() }
    var third = RetryStateMachine(policy)
    #expect(fail(&third, &throttle, failure) != .fail)
  }

  @Test func tokensStayWithinTheirBounds() {
    var throttle = RetryThrottle(RPCRetryThrottling(maximumTokens: 2, tokenRatio: 1))
    throttle.attemptSucceeded()
    #expect(throttle.tokens == 2)
    for _ in 0..<3 { throttle.attemptFailed() }
    #expect(throttle.tokens == 0)
  }

  @Test func otherFailuresCostNothingUnlessTheServerForbidsRetries() {
    var throttle: RetryThrottle? = RetryThrottle(RPCRetryThrottling(maximumTokens: 4))
    var machine = RetryStateMachine(policy)
    #expect(fail(&machine, &throttle, AttemptFailure(code: .internalError)) == .fail)
    #expect(throttle?.tokens == 4)
    #expect(fail(&machine, &throttle, AttemptFailure(code: .internalError, pushback: .never)) == .fail)
    #expect(throttle?.tokens == 3)
  }
}
