// EvaluationService: LAContext as a service: checks whether a policy can be evaluated, and evaluates it attempt by
// attempt.

public import TouchstoneCodec

extension TouchstoneClient {
  /// A read-only preflight, like canEvaluatePolicy.
  public var canEvaluatePolicy: UnaryMethod<V1.CanEvaluatePolicyRequest, V1.CanEvaluatePolicyResponse> {
    method(V1.EvaluationService.canEvaluatePolicy)
  }

  /// Opens an evaluation and returns the bytes for the device to sign.
  public var beginEvaluation: UnaryMethod<V1.BeginEvaluationRequest, V1.BeginEvaluationResponse> {
    method(V1.EvaluationService.beginEvaluation)
  }

  /// Makes one attempt, or takes the device's report of one. Its effect is durable before the answer.
  public var submitAttempt: UnaryMethod<V1.SubmitAttemptRequest, V1.SubmitAttemptResponse> {
    method(V1.EvaluationService.submitAttempt)
  }

  /// Ends an evaluation, like LAContext.invalidate: every later attempt gets INVALID_CONTEXT.
  public var invalidateEvaluation: UnaryMethod<V1.InvalidateEvaluationRequest, V1.InvalidateEvaluationResponse> {
    method(V1.EvaluationService.invalidateEvaluation)
  }
}
