/// A value that only its event loop uses, in the hands of any thread.
package struct LoopConfined<Value>: @unchecked Sendable {
  // Sendable because: `value` is read on the event loop only, which debug builds check.

  package let loop: EventLoop
  private let confined: Value

  package init(_ value: Value, on loop: EventLoop) {
    self.loop = loop
    confined = value
  }

  /// On the event loop only.
  package var value: Value {
    loop.assertIsCurrent()
    return confined
  }

  /// From any thread: `body` runs soon on the event loop, in the order given.
  package func execute(_ body: @escaping @Sendable (Value) -> Void) {
    loop.execute { body(self.value) }
  }
}
