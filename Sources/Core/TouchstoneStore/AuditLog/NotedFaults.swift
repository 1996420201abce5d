// Which broken events of the audit log this process has noted there.

internal import Synchronization

/// An erasure that is repeated finds the same broken event again: it is one `log.broken`, not one for each call.
package final class NotedFaults: Sendable {
  /// More broken events than an operator follows up. The one that was noted longest ago is forgotten, and may be noted
  /// again.
  private static let maximum = 256

  private let faults = Mutex<[EventChainVerifier.Fault]>([])

  package init() {}

  package func contain(_ fault: EventChainVerifier.Fault) -> Bool {
    faults.withLock { $0.contains(fault) }
  }

  /// The event that says so is durable.
  package func insert(_ fault: EventChainVerifier.Fault) {
    faults.withLock { faults in
      guard !faults.contains(fault) else { return }
      if faults.count == Self.maximum { faults.removeFirst() }
      faults.append(fault)
    }
  }
}
