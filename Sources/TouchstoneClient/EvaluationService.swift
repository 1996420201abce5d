// EvaluationService: LAContext as a service: may a policy be evaluated, evaluate it, attempt by attempt.

public import TouchstoneCodec

extension TouchstoneClient {
  /// Read-only preflight: canEvaluatePolicy.
  public var canEvaluatePolicy: UnaryMethod<V1.CanEvaluatePolicyRequest, V1.CanEvaluatePolicyResponse> {
    method("EvaluationService/CanEvaluatePolicy")
  }

  /// Opens an evaluation and issues what the device signs. Writes nothing.
  public var beginEvaluation: UnaryMethod<V1.BeginEvaluationRequest, V1.BeginEvaluationResponse> {
    method("EvaluationService/BeginEvaluation")
  }

  /// One attempt, or the device's report of one. Durable before it is answered.
  public var submitAttempt: UnaryMethod<V1.SubmitAttemptRequest, V1.SubmitAttemptResponse> {
    method("EvaluationService/SubmitAttempt")
  }

  /// LAContext.invalidate: every later attempt gets INVALID_CONTEXT.
  public var invalidateEvaluation: UnaryMethod<V1.InvalidateEvaluationRequest, V1.InvalidateEvaluationResponse> {
    method("EvaluationService/InvalidateEvaluation")
  }
}
