// The phone behind LAContext. Only tests use this type; the app's code does not know it.

public import SimulatedPhone
internal import Synchronization

/// A phone and the app that runs on it. Every `LAContext` belongs to the simulation that is current where it is made.
///
/// ```swift
/// let phone = SimulatedPhone(passcode: "2580", enrolled: ["thumb"], person: .presenting(.finger("thumb")))
/// try await LASimulation(phone: phone).run {
///   try await LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Log in")
/// }
/// ```
public struct LASimulation: Sendable {
  public var phone: SimulatedPhone
  /// The app's bundle identifier. Domain states and keys are the app's own; wrong attempts count for all.
  public var application: String

  public init(phone: SimulatedPhone, application: String = "com.example.app") {
    self.phone = phone
    self.application = application
  }

  /// The simulation of the innermost `run` around the caller's task, or else the installed one of the process.
  public static var current: LASimulation {
    scoped ?? installed.withLock { $0 }
  }

  /// For contexts that are made outside of tasks, as on a queue. Before the first `install`: a phone without any setup.
  public static func install(_ simulation: LASimulation) {
    installed.withLock { $0 = simulation }
  }

  /// Makes this simulation the current one for contexts made in `body` and in its child tasks.
  public func run<Value>(_ body: () throws -> Value) rethrows -> Value {
    try Self.$scoped.withValue(self, operation: body)
  }

  /// Makes this simulation the current one for contexts made in `body` and in its child tasks.
  public func run<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    try await Self.$scoped.withValue(self, operation: body)
  }

  @TaskLocal private static var scoped: LASimulation?

  private static let installed = Mutex(LASimulation(phone: SimulatedPhone()))
}
