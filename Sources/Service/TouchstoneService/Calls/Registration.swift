// Puts the handlers into the method table. Each call passes its method's rule first, whatever kind of call it is.

internal import DispatchRPC
internal import TouchstoneCodec

/// A call that may use its method.
struct AdmittedCall: Sendable {
  let context: LoopContext
  let grants: CallerGrants
  let began: MonotonicTime
  /// `nil`: the call is not sampled.
  let trace: CallTrace?
}

/// Applies one method's rule (`MethodDescriptor.Access`) to its calls.
private struct Admission<Request: WireMessage, Response: WireMessage>: Sendable {
  private let service: TouchstoneService
  private let method: WireMethod<Request, Response>
  private let number: MethodDescriptor.Number?

  init(to method: WireMethod<Request, Response>, of service: TouchstoneService) {
    (self.service, self.method) = (service, method)
    number = MethodDescriptor.number(of: method.path)
  }

  /// Checks the caller and its grant for the method. `nil`: the call was refused.
  ///
  /// Calls of open methods are not traced: probes say nothing, and strangers cost nothing.
  func admit(_ call: some IncomingContext) -> AdmittedCall? {
    let began = MonotonicTime.now()
    let context = service.contexts[call.loop.index]
    if method.descriptor.access == .open {
      return AdmittedCall(context: context, grants: .nobody, began: began, trace: nil)
    }
    guard let grants = service.access.admit(call, to: number, context) else { return nil }
    let trace = service.tracer?.begin(call, of: grants.caller, context, since: began)
    return AdmittedCall(context: context, grants: grants, began: began, trace: trace)
  }

  /// Decodes the request, and checks the grant for its application. `nil`: the call was refused.
  func request(
    in bytes: UnsafeRawBufferPointer, of exchange: some CallExchange, _ admitted: AdmittedCall
  ) throws(RequestError) -> Request? {
    let request: Request = try exchange.decode(bytes)
    guard let applicationID = method.applicationID else { return request }
    let isGranted = service.access.admit(
      exchange.incoming, of: admitted.grants, to: number, about: applicationID(request), exchange.context)
    if isGranted { return request }
    exchange.trace?.end(.permissionDenied)
    return nil
  }
}

extension TouchstoneService {
  /// Checks the caller of a unary call and its grant for the method, as `MethodTable.dispatch` does again, for a
  /// transport whose messages cost much to read. False: the call was refused. Must be called on the call's event loop.
  public func admits(_ call: some IncomingCall) -> Bool {
    let number = MethodDescriptor.number(of: call.path)
    if let number, MethodDescriptor.all[number].access == .open { return true }
    return access.admit(call, to: number, contexts[call.loop.index]) != nil
  }

  /// Registers a unary method. `handler` is a task on the call's event loop. Its value is the answer, and the call is
  /// refused with what it throws.
  func register<Request: WireMessage, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, in methods: inout MethodTable,
    handler: @escaping @Sendable (Request, Exchange<Response>) async throws(RequestError) -> Response
  ) {
    register(method, in: &methods) { request, exchange in
      exchange.run { () async throws(RequestError) in exchange.answer(try await handler(request, exchange)) }
    }
  }

  /// Registers a unary method whose calls are too many for tasks. `start` runs on the call's event loop, and answers
  /// now or later; the call is refused with what it throws.
  func register<Request: WireMessage, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, in methods: inout MethodTable,
    start: @escaping @Sendable (Request, Exchange<Response>) throws(RequestError) -> Void
  ) {
    let admission = Admission(to: method, of: self)
    let serve: MethodTable.UnaryHandler = { call, bytes in
      guard let admitted = admission.admit(call) else { return }
      let exchange = Exchange<Response>(call: call, admitted: admitted)
      do throws(RequestError) {
        if let request = try admission.request(in: bytes, of: exchange, admitted) { try start(request, exchange) }
      } catch {
        exchange.refuse(error)
      }
    }
    methods.add(method.descriptor, .unary(serve))
  }

  /// Registers a method that answers a stream. The function that `handler` returns takes the stream's events.
  func register<Request: WireMessage, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, in methods: inout MethodTable,
    handler: @escaping @Sendable (Request, StreamExchange<Response>) throws(RequestError) -> MethodTable.StreamEvents
  ) {
    let admission = Admission(to: method, of: self)
    let serve: MethodTable.ServerStreamingHandler = { stream, bytes in
      guard let admitted = admission.admit(stream) else { return MethodTable.noEvents }
      let exchange = StreamExchange<Response>(stream: stream, admitted: admitted)
      return exchange.events { () throws(RequestError) in
        guard let request = try admission.request(in: bytes, of: exchange, admitted) else { return nil }
        return try handler(request, exchange)
      }
    }
    methods.add(method.descriptor, .serverStreaming(serve))
  }

  /// Registers a method with messages both ways, which the handler requests one by one. It can concern no application,
  /// because it begins before there is a request.
  func register<Request: WireMessage, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, in methods: inout MethodTable,
    handler: @escaping @Sendable (StreamExchange<Response>) throws(RequestError) -> MethodTable.StreamEvents
  ) {
    precondition(method.applicationID == nil, "\(method.path) begins before a request names its application")
    let admission = Admission(to: method, of: self)
    let serve: MethodTable.BidirectionalHandler = { stream in
      guard let admitted = admission.admit(stream) else { return MethodTable.noEvents }
      let exchange = StreamExchange<Response>(stream: stream, admitted: admitted)
      return exchange.events { () throws(RequestError) in try handler(exchange) }
    }
    methods.add(method.descriptor, .bidirectional(serve))
  }
}

extension StreamExchange {
  /// Returns what takes the stream's events: nothing if the stream was refused.
  fileprivate func events(
    _ begin: () throws(RequestError) -> MethodTable.StreamEvents?
  ) -> MethodTable.StreamEvents {
    do throws(RequestError) {
      return try begin() ?? MethodTable.noEvents
    } catch {
      refuse(error)
      return MethodTable.noEvents
    }
  }
}

extension CallExchange {
  func decode<Request: WireMessage>(_ bytes: UnsafeRawBufferPointer) throws(RequestError) -> Request {
    let part = begin(.decode)
    defer { part?.end() }
    do throws(DecodingError) {
      return try context.coder.decode(Request.self, from: bytes)
    } catch {
      throw RequestError(error)
    }
  }
}
