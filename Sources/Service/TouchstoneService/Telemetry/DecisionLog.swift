// A line of the log for each event of a decision (docs/OPERATING.md): what the audit log keeps, without persons,
// devices and texts.

internal import DispatchRPC
internal import Logging
internal import TouchstoneStore
internal import TouchstoneTraces

/// Takes the lines of decisions past swift-log, whose events and dictionaries take half of the instructions of a line.
package protocol DecisionLog: Sendable {
  /// Whether lines at `info` are written.
  var takesDecisions: Bool { get }
  /// - Parameter kind: an event's: "evaluation.succeeded".
  func write(_ kind: String, _ fields: DecisionFields)
}

/// The fields of a decision's line. In swift-log they are one value of the metadata.
package struct DecisionFields: Sendable, CustomStringConvertible {
  /// Under which swift-log has them.
  package static let key = "decision"

  fileprivate var applicationID: String
  fileprivate var caller: String
  fileprivate var details: [EventDetail]
  fileprivate var path: String?
  /// From the request to the decision's durability.
  fileprivate var time: Duration?
  fileprivate var traceID: String?

  package enum Value {
    case text(String)
    /// Thousandths.
    case thousandths(Int64)
  }

  /// Calls `body` with each field, in the line's order.
  package func forEach(_ body: (_ name: String, _ value: Value) -> Void) {
    if !applicationID.isEmpty { body("application", .text(applicationID)) }
    body("caller", .text(caller))
    for detail in details where ShownDetails.contain(detail) { body(detail.key, .text(detail.value)) }
    if let path { body("rpc", .text(path)) }
    if let time { body("duration_ms", .thousandths(max(0, time.wholeNanoseconds / 1_000))) }
    if let traceID { body("trace_id", .text(traceID)) }
  }

  package var description: String {
    var fields: [String] = []
    forEach { name, value in
      switch value {
      case .text(let text): fields.append("\(name)=\(text)")
      case .thousandths(let number): fields.append("\(name)=\(Double(number) / 1_000)")
      }
    }
    return fields.joined(separator: " ")
  }
}

/// The parts of an event that a log and a trace show. Others name a person, a device or a token, or hold a caller's
/// text.
enum ShownDetails {
  /// Few and short, so that comparing them costs less than hashing.
  private static let keys = [
    "policy", "factor", "reason", "la_error", "counted", "lock", "attestation", "app_assertion", "authority",
    "evidence",
    "method", "suppressed",
  ]

  static func contain(_ detail: EventDetail) -> Bool {
    !detail.value.isEmpty && keys.contains(detail.key)
  }
}

extension CallExchange {
  /// Called once what is decided is durable. The call's span has all of it.
  ///
  /// - Parameter written: has a line each. Refusals that the audit log leaves out have none, so that no caller fills
  ///   the disk of the log.
  func logDecisions(_ decided: [EventDraft], written: [EventDraft]) {
    for event in decided { trace?.note(event.kind, in: event.applicationID, event.details) }
    for event in written { writeLine(event.kind, in: event.applicationID, event.details) }
  }

  /// - Parameter kind: an event's: "evaluation.succeeded".
  func logDecision(_ kind: String, in applicationID: String, _ details: [EventDetail] = []) {
    trace?.note(kind, in: applicationID, details)
    writeLine(kind, in: applicationID, details)
  }

  private func writeLine(_ kind: String, in applicationID: String, _ details: [EventDetail]) {
    if let decisions = context.decisions {
      if decisions.takesDecisions { decisions.write(kind, fields(in: applicationID, details)) }
    } else {
      context.logger.logDecision(kind, fields(in: applicationID, details))
    }
  }

  private func fields(in applicationID: String, _ details: [EventDetail]) -> DecisionFields {
    DecisionFields(
      applicationID: applicationID, caller: caller.identity, details: details, path: incoming.path,
      time: MonotonicTime.now() - began, traceID: traceID)
  }

  /// The trace that the caller names, whether this call is sampled or not.
  private var traceID: String? {
    if let trace { return trace.id.description }
    return incoming.metadata(TraceContext.header).flatMap { TraceContext(traceparent: $0) }?.traceID.description
  }
}

extension Logger {
  fileprivate func logDecision(_ kind: String, _ fields: @autoclosure () -> DecisionFields) {
    info(Message(stringLiteral: kind), metadata: [DecisionFields.key: .stringConvertible(fields())])
  }

  /// - Parameter event: of a call that was refused before there was an exchange.
  func logRefusal(_ event: EventDraft) {
    logDecision(
      event.kind,
      DecisionFields(applicationID: event.applicationID, caller: event.caller, details: event.details))
  }
}

extension TouchstoneService {
  /// Counts and logs a lock, once it is durable.
  func lockBegan(_ lock: ServiceMeters.Lock, in applicationID: String, for exchange: some CallExchange) {
    meters.lockouts.count(lock)
    exchange.logDecision("lock.began", in: applicationID, [EventDetail(key: "lock", value: lock.rawValue)])
  }
}
