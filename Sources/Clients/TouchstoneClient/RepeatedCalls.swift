// Which calls the client repeats by itself, by the promises of the .proto files.

internal import DispatchRPC
internal import RPCChannel
internal import TouchstoneCodec

enum RepeatedCalls {
  /// For methods whose `idempotency_level` allows that a lost call happens twice.
  ///
  /// Not repeated: SubmitAttempt, SetSecret and RemoveSecret (a wrong secret would count twice), CompleteBinding and
  /// ConsumeToken (a ticket and a payment serve once, so a second call would be refused), and SetUnlockSettings (a
  /// repetition could undo a later call). The caller resumes a stream.
  static let policies = Dictionary(
    uniqueKeysWithValues: MethodDescriptor.all.filter { $0.kind == .unary && $0.idempotency != .unknown }
      .map { ($0.path, RPCMethodPolicy(attempts: .retry(again))) })

  /// UNAVAILABLE: the call may have happened. ABORTED: it has not.
  private static let again = RPCRetryPolicy(retryableCodes: [.unavailable, .aborted])

  /// For all other methods: nothing was done, so any call may be repeated.
  static let defaultPolicy = RPCMethodPolicy(attempts: .retry(RPCRetryPolicy(retryableCodes: [.aborted])))
}
