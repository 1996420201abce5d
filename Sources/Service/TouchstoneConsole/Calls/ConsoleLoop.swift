// The event loop on which the console's calls run in the service.

internal import Dispatch
internal import TouchstoneService

/// A queue of its own, so that no page delays callers of the RPC server.
final class ConsoleLoop: CallLoop {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  let index: Int
  private let queue = DispatchQueue(label: "touchstone.console")

  /// - Parameter index: the service's last event loop, which no RPC server uses.
  init(index: Int) {
    self.index = index
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
  }

  var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

  func execute(_ work: @escaping @Sendable () -> Void) {
    queue.async(execute: work)
  }

  func execute(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + .microseconds(Int(delay.components.seconds * 1_000_000)), execute: work)
  }
}
