/// A traced call that has ended: its span, and the spans of its parts.
package struct TracedCall: Sendable, Hashable {
  package struct Part: Sendable, Hashable {
    package var name: String
    package var id: SpanID
    /// In nanoseconds since 1970, as all times here.
    package var begin: UInt64
    package var end: UInt64

    package init(_ name: String, id: SpanID, begin: UInt64, end: UInt64) {
      (self.name, self.id, self.begin, self.end) = (name, id, begin, end)
    }
  }

  package enum Value: Sendable, Hashable {
    case text(String)
    case number(Int64)
  }

  package struct Attribute: Sendable, Hashable {
    package var key: String
    package var value: Value

    package init(_ key: String, _ value: Value) {
      (self.key, self.value) = (key, value)
    }
  }

  /// Beyond this a call's parts are counted and not kept. A login has six; conflicts repeat some of them.
  package static let maximumParts = 32

  package var traceID: TraceID
  package var id: SpanID
  /// `nil`: the trace begins here.
  package var parent: SpanID?
  /// The caller's `tracestate`, as it came; empty without one.
  package var state = ""
  /// "touchstone.v1.EvaluationService/SubmitAttempt"
  package var name: String
  package var begin: UInt64
  package var end: UInt64
  /// The status shows that the service failed, and not the caller.
  package var isFailure = false
  package var attributes: [Attribute] = []
  package var parts: [Part] = []

  package init(traceID: TraceID, id: SpanID, parent: SpanID?, name: String, begin: UInt64) {
    (self.traceID, self.id, self.parent, self.name) = (traceID, id, parent, name)
    (self.begin, end) = (begin, begin)
  }

  /// The call's own span, and those of its parts.
  package var spanCount: Int { 1 + parts.count }
}
