/// What callbacks saw, to be awaited.
public struct Sightings<Value: Sendable>: Sendable {
  private let stream: AsyncStream<Value>
  private let continuation: AsyncStream<Value>.Continuation

  public init(of type: Value.Type = Value.self) {
    (stream, continuation) = AsyncStream.makeStream()
  }

  public func saw(_ value: Value) {
    continuation.yield(value)
  }

  public func next() async -> Value {
    for await value in stream { return value }
    preconditionFailure("the stream of sightings never ends")
  }
}
