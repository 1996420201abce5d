// The message that a collector takes: opentelemetry-proto's ExportTraceServiceRequest. Pure.
//
// Written by hand, because it is one message, which is only sent, and has six kinds of fields; generated code would be
// forty times as long. The field numbers are those of opentelemetry-proto 1.x
// (opentelemetry/proto/collector/trace/v1/trace_service.proto, trace/v1/trace.proto, common/v1/common.proto and
// resource/v1/resource.proto), which never change.

/// OTLP over gRPC.
package enum ExportMessage {
  package static let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

  private static let scope = "touchstone"

  /// - Parameter resource: what sends the spans: "service.name" and so on.
  package static func bytes(_ calls: [TracedCall], of resource: [TracedCall.Attribute]) -> [UInt8] {
    var request = ProtobufWriter()
    // ResourceSpans resource_spans = 1
    request.message(1) { spans in
      // Resource resource = 1, with KeyValue attributes = 1
      spans.message(1) { $0.attributes(1, resource) }
      // ScopeSpans scope_spans = 2
      spans.message(2) { scoped in
        // InstrumentationScope scope = 1, with string name = 1
        scoped.message(1) { $0.text(1, scope) }
        for call in calls {
          // Span spans = 2
          scoped.message(2) { $0.span(call) }
          for part in call.parts { scoped.message(2) { $0.span(part, of: call) } }
        }
      }
    }
    return request.bytes
  }

  /// How many spans the collector did not take, by its ExportTraceServiceResponse; 0 if the answer is malformed.
  package static func rejectedSpans(in answer: [UInt8]) -> Int {
    // ExportTracePartialSuccess partial_success = 1, with int64 rejected_spans = 1
    guard let partial = ProtobufReader.field(1, in: answer[...]), case .bytes(let bytes) = partial,
      case .number(let count)? = ProtobufReader.field(1, in: bytes)
    else { return 0 }
    return Int(max(0, Int64(bitPattern: count)))
  }
}

extension ProtobufWriter {
  /// SpanKind
  private static let server: UInt64 = 2
  private static let inside: UInt64 = 1
  /// StatusCode
  private static let failed: UInt64 = 2
  /// Sampled; and whether the parent is of another process is known (bit 8), and is (bit 9).
  private static let flags: UInt32 = 0x101
  private static let remoteParent: UInt32 = 0x200

  fileprivate mutating func span(_ call: TracedCall) {
    bytes(1, call.traceID.bytes)
    bytes(2, call.id.bytes)
    if !call.state.isEmpty { text(3, call.state) }
    if let parent = call.parent { bytes(4, parent.bytes) }
    text(5, call.name)
    number(6, Self.server)
    fixed(7, call.begin)
    fixed(8, call.end)
    attributes(9, call.attributes)
    if call.isFailure {
      // Status status = 15, with StatusCode code = 3
      message(15) { $0.number(3, Self.failed) }
    }
    fixed(16, Self.flags | (call.parent == nil ? 0 : Self.remoteParent))
  }

  fileprivate mutating func span(_ part: TracedCall.Part, of call: TracedCall) {
    bytes(1, call.traceID.bytes)
    bytes(2, part.id.bytes)
    bytes(4, call.id.bytes)
    text(5, part.name)
    number(6, Self.inside)
    fixed(7, part.begin)
    fixed(8, part.end)
    fixed(16, Self.flags)
  }

  /// KeyValue: string key = 1, AnyValue value = 2 with string string_value = 1 or int64 int_value = 3
  fileprivate mutating func attributes(_ field: Int, _ attributes: [TracedCall.Attribute]) {
    for attribute in attributes {
      message(field) { pair in
        pair.text(1, attribute.key)
        pair.message(2) { value in
          switch attribute.value {
          case .text(let text): value.text(1, text)
          case .number(let number): value.number(3, UInt64(bitPattern: number))
          }
        }
      }
    }
  }
}
