/// A condition that did not come true in time.
public struct NeverTrue: Error, CustomStringConvertible {
  public let description: String
}

/// Waits until the condition is true, for what no event announces. It sleeps between two looks: a loop of
/// `Task.yield()` would keep one of the few threads of all tasks from the work that it waits for.
///
/// - Parameter limit: much longer than any test waits, also on a busy machine.
/// - Throws: `NeverTrue` at the limit, `CancellationError` at the test's own, and what the condition throws.
public func eventually(
  within limit: Duration = .seconds(180), at file: String = #fileID, line: Int = #line,
  _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + limit
  var pause = Duration.milliseconds(1)
  while try await !condition() {
    guard ContinuousClock.now < end else { throw NeverTrue(description: "\(file):\(line): not true in \(limit)") }
    try await Task.sleep(for: pause)
    pause = min(pause + .milliseconds(1), .milliseconds(5))
  }
}
