// The applications whose stand-ins have a share of their own (R37), as the latest reload left them.

internal import Synchronization

/// The applications that the configuration names. A store reads them whenever it bounds its stand-ins.
public final class NamedApplications: Sendable, ExpressibleByArrayLiteral {
  private let names: Mutex<[String]>

  public init(_ names: [String] = []) {
    self.names = Mutex(names)
  }

  public convenience init(arrayLiteral names: String...) { self.init(names) }

  /// Some of them more than once.
  public var current: [String] { names.withLock { $0 } }

  public func replace(with new: [String]) { names.withLock { $0 = new } }
}
