internal import Synchronization

/// The events that the parts of an erasure erased, and the fault that they found. A value, so that a repeated
/// transaction begins with the same one.
package struct ErasureFindings: Sendable {
  /// The first event that is not as it was written, until it is reported.
  package private(set) var newFault: EventChainVerifier.Fault?
  private var hasToldFault = false
  /// The events of this transaction's part that lost their content.
  private var erased: [ErasedEvent] = []
  /// After the first account, parts without an event need none.
  private var isAccountedFor = false

  package init() {}

  package mutating func note(_ finding: ProfileErasure.Finding, of sequence: UInt64) {
    switch finding {
    case .erasable(let event): erased.append(event)
    case .broken: if !hasToldFault { newFault = newFault ?? .altered(sequence: sequence) }
    case .isErased: break
    }
  }

  /// The accounts of this transaction's part, which end it.
  package mutating func takeAccounts(of erasure: ProfileErasure) -> [EventDraft] {
    defer { (erased, isAccountedFor) = ([], true) }
    return erased.isEmpty && isAccountedFor ? [] : erasure.accounts(ofErased: erased)
  }

  /// At most one in the whole erasure.
  package mutating func takeNewFault() -> EventChainVerifier.Fault? {
    guard let fault = newFault else { return nil }
    (newFault, hasToldFault) = (nil, true)
    return fault
  }
}

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
