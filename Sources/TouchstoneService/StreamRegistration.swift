// How methods that stream, and those that everybody may call, come into the table: as `register` does it with the others.

internal import DispatchRPC
internal import TouchstoneCodec

extension TouchstoneService {
  /// As `register`; what `handler` returns takes the stream's events.
  func registerServerStreaming<Request: WireMessage & ApplicationRequest, Response: WireMessage>(
    _ path: String, in methods: inout MethodTable,
    handler:
      @escaping @Sendable (Request, StreamExchange<Response>) throws(RequestError) -> MethodTable.StreamEvents
  ) {
    let method = ServedMethods.number(of: path)
    methods.addServerStreaming(path) { [self] stream, bytes in
      let context = context(of: stream)
      guard let grants = access.admit(stream, to: method, context) else { return Self.noEvents }
      let exchange = StreamExchange<Response>(stream: stream, context: context, caller: grants.caller)
      return Self.events(refusing: exchange) { () throws(RequestError) in
        let request: Request = try Self.decode(bytes, with: context.coder)
        guard access.admit(stream, of: grants, to: method, about: request, context) else { return Self.noEvents }
        return try handler(request, exchange)
      }
    }
  }

  /// As `registerForAll`, of a stream whose messages are asked for.
  func registerBidirectional<Response: WireMessage>(
    _ path: String, in methods: inout MethodTable,
    handler: @escaping @Sendable (StreamExchange<Response>) throws(RequestError) -> MethodTable.StreamEvents
  ) {
    let method = ServedMethods.number(of: path)
    methods.addBidirectional(path) { [self] stream in
      let context = context(of: stream)
      guard let grants = access.admit(stream, to: method, context) else { return Self.noEvents }
      let exchange = StreamExchange<Response>(stream: stream, context: context, caller: grants.caller)
      return Self.events(refusing: exchange) { () throws(RequestError) in try handler(exchange) }
    }
  }

  /// For everybody, whoever they are.
  func registerOpen<Request: WireMessage, Response: WireMessage>(
    _ path: String, in methods: inout MethodTable,
    handler: @escaping @Sendable (Request, Exchange<Response>) throws(RequestError) -> Void
  ) {
    methods.add(path) { [self] call, bytes in
      let exchange = Exchange<Response>(call: call, context: context(of: call), caller: .nobody)
      do throws(RequestError) {
        try handler(Self.decode(bytes, with: exchange.context.coder), exchange)
      } catch {
        exchange.refuse(error)
      }
    }
  }

  /// For everybody, whoever they are.
  func registerOpenServerStreaming<Request: WireMessage, Response: WireMessage>(
    _ path: String, in methods: inout MethodTable,
    handler:
      @escaping @Sendable (Request, StreamExchange<Response>) throws(RequestError) -> MethodTable.StreamEvents
  ) {
    methods.addServerStreaming(path) { [self] stream, bytes in
      let exchange = StreamExchange<Response>(stream: stream, context: context(of: stream), caller: .nobody)
      return Self.events(refusing: exchange) { () throws(RequestError) in
        try handler(Self.decode(bytes, with: exchange.context.coder), exchange)
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

  /// Of a stream that has ended.
  private static let noEvents: MethodTable.StreamEvents = { _ in }
}

extension Caller {
  /// Nobody asked who it is.
  fileprivate static let nobody = Caller(identity: "")
}
