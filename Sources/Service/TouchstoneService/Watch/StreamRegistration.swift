// Puts streaming methods, and methods open to every peer, into the table, as `register` does with the others.

internal import DispatchRPC
internal import TouchstoneCodec

extension TouchstoneService {
  /// As `register`; the function that `handler` returns takes the stream's events.
  func registerServerStreaming<Request: WireMessage & ApplicationRequest, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, in methods: inout MethodTable,
    handler:
      @escaping @Sendable (Request, StreamExchange<Response>) throws(RequestError) -> MethodTable.StreamEvents
  ) {
    let number = ServedMethods.number(of: method.path)
    methods.addServerStreaming(method.descriptor) { [self] stream, bytes in
      let began = MonotonicTime.now()
      let context = context(of: stream)
      guard let grants = access.admit(stream, to: number, context) else { return Self.noEvents }
      let exchange = StreamExchange<Response>(
        stream: stream, context: context, caller: grants.caller, began: began,
        trace: tracer?.begin(stream, of: grants.caller, context, since: began))
      return Self.events(refusing: exchange) { () throws(RequestError) in
        let request: Request = try exchange.decode(bytes)
        guard access.admit(stream, of: grants, to: number, about: request, context) else {
          exchange.trace?.end(.permissionDenied)
          return Self.noEvents
        }
        return try handler(request, exchange)
      }
    }
  }

  /// As `registerForAll`, for a stream whose messages are requested one by one.
  func registerBidirectional<Request: WireMessage, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, in methods: inout MethodTable,
    handler: @escaping @Sendable (StreamExchange<Response>) throws(RequestError) -> MethodTable.StreamEvents
  ) {
    let number = ServedMethods.number(of: method.path)
    methods.addBidirectional(method.descriptor) { [self] stream in
      let began = MonotonicTime.now()
      let context = context(of: stream)
      guard let grants = access.admit(stream, to: number, context) else { return Self.noEvents }
      let exchange = StreamExchange<Response>(
        stream: stream, context: context, caller: grants.caller, began: began,
        trace: tracer?.begin(stream, of: grants.caller, context, since: began))
      return Self.events(refusing: exchange) { () throws(RequestError) in try handler(exchange) }
    }
  }

  /// Registers a method that every peer may call. Its calls are not traced: probes say nothing, and strangers cost nothing.
  func registerOpen<Request: WireMessage, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, in methods: inout MethodTable,
    handler: @escaping @Sendable (Request, Exchange<Response>) throws(RequestError) -> Void
  ) {
    methods.add(method.descriptor) { [self] call, bytes in
      let exchange = Exchange<Response>(
        call: call, context: context(of: call), caller: .nobody, began: .now(), trace: nil)
      do throws(RequestError) {
        try handler(exchange.decode(bytes), exchange)
      } catch {
        exchange.refuse(error)
      }
    }
  }

  /// Registers a method that every peer may call.
  func registerOpenServerStreaming<Request: WireMessage, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, in methods: inout MethodTable,
    handler:
      @escaping @Sendable (Request, StreamExchange<Response>) throws(RequestError) -> MethodTable.StreamEvents
  ) {
    methods.addServerStreaming(method.descriptor) { [self] stream, bytes in
      let exchange = StreamExchange<Response>(
        stream: stream, context: context(of: stream), caller: .nobody, began: .now(), trace: nil)
      return Self.events(refusing: exchange) { () throws(RequestError) in
        try handler(exchange.decode(bytes), exchange)
      }
    }
  }

  private static func events(
    refusing exchange: some CallExchange, _ begin: () throws(RequestError) -> MethodTable.StreamEvents
  ) -> MethodTable.StreamEvents {
    do throws(RequestError) {
      return try begin()
    } catch {
      exchange.refuse(error)
      return noEvents
    }
  }

  /// Takes the events of a stream that has ended.
  private static let noEvents: MethodTable.StreamEvents = { _ in }
}

extension Caller {
  /// The caller of an open method, which is not identified.
  fileprivate static let nobody = Caller(identity: "")
}
