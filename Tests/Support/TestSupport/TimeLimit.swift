public import Testing

extension Trait where Self == TimeLimitTrait {
  /// For tests whose failure is a wait without an end. It measures nothing: with all seeds on a slow machine, a test
  /// of a second waits for minutes.
  public static var mustEnd: Self { .timeLimit(.minutes(15)) }
}
