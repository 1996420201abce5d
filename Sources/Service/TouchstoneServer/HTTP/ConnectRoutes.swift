// The API's unary methods for callers without gRPC: by Connect's protocol over HTTP/1.1, as JSON or as protobuf.

internal import DispatchHTTP
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneService

/// The routes of the methods at one address. A call has the same handler, grants, limits and events as over gRPC.
struct ConnectRoutes: Sendable {
  /// Handlers that run at one time: one for each connection, and no more than the calls that gRPC's server never
  /// refuses (`RunningCallLimit`). Those that run on after their clients' deadlines, or without their clients, count,
  /// too.
  static let maximumRunningCalls = HTTPServerLimits().connections

  /// The largest message, if it is one field of bytes in Base64, and a tenth for names.
  static let maximumBodyBytes = DecodingLimits.default.maximumBytes * 3 / 2

  /// The largest message of a method that is open to strangers: health's, which names one service.
  static let maximumOpenBodyBytes = 4 << 10

  let service: TouchstoneService
  /// The address's own, with an index among the service's.
  let loop: EventLoop
  let meters: LoopConfined<CallMeters>
  let gzip: LoopConfined<Gzip>
  /// Whether a process of this machine may call without a key: on an address that serves operators, too, which is for
  /// this machine alone. Before an address for everybody there may be a proxy, all of whose clients would be `local`.
  let takesLocalCallers: Bool
  /// The name of the address's host, as the configuration has it.
  let hostName: String?
  fileprivate let running = RunningCalls()

  func add(to router: inout HTTPRouter) {
    let methods = service.methods
    let unary = Dictionary(uniqueKeysWithValues: JSONMethod.all.map { ($0.path, $0) })
    for (place, path) in methods.paths.enumerated() {
      guard let method = unary[path] else {
        // Clients of Connect send streams with another type, too.
        let refusal = ConnectError(code: .unimplemented, message: "\(path) answers a stream: call it over gRPC")
        router.add("POST", path, maximumBodyBytes: Self.maximumBodyBytes) { $1.answer(refusal.response) }
        continue
      }
      let limit = Self.maximumBodyBytes(of: method)
      let tooLarge = ConnectError(code: .resourceExhausted, message: "the body may have \(limit) bytes")
      // Connect's client in Go sends an empty message in chunks.
      router.add(
        "POST", path, maximumBodyBytes: limit, takesChunks: true, tooLarge: tooLarge.response
      ) { request, exchange in
        serve(request, exchange, method, at: place, in: methods)
      }
    }
  }

  private func serve(
    _ request: HTTPRequest, _ exchange: HTTPExchange, _ method: JSONMethod, at place: Int, in methods: MethodTable
  ) {
    guard !takesLocalCallers || !request.mayComeFromPage(at: hostName) else {
      return exchange.answer(
        .text(.forbidden, "no page in a browser may call: use an address or localhost, and no Origin"))
    }
    let head: ConnectCallHead
    do throws(ConnectCallHead.Refusal) {
      head = try ConnectCallHead(request.head)
    } catch {
      return exchange.answer(error.response)
    }
    let call = ConnectCall(request, exchange, method, head.form, at: place, for: self)
    if let refusal = refusal(of: method) { return call.fail(refusal) }
    // Before the message is inflated and read, which would cost this event loop far more than the refusal.
    guard service.admits(call) else { return }
    if let timeout = head.timeout { call.end(at: loop.now.advanced(by: timeout)) }
    // The address's event loop verifies signatures at the end of its round (`HTTPService`).
    message(of: request.body, head, method, call).withUnsafeBytes { methods.dispatch(call, $0) }
  }

  /// Why no call of the method can be served now.
  private func refusal(of method: JSONMethod) -> RPCError? {
    if service.isDraining { return TouchstoneService.drainingError }
    // Health is told in any case, as over gRPC: it is read from memory.
    guard method.isOpen || running.count < Self.maximumRunningCalls else {
      return TouchstoneService.overloadError
    }
    return nil
  }

  /// The bytes of no message: no field has the number 0.
  private static let unreadableMessage: [UInt8] = [0]

  /// Returns an unreadable message for a body with a fault, which the call then names.
  private func message(
    of body: [UInt8], _ head: ConnectCallHead, _ method: JSONMethod, _ call: ConnectCall
  ) -> [UInt8] {
    do throws(DecodingError) {
      let body = head.isCompressed ? try inflated(body, limit: Self.maximumBodyBytes(of: method)) : body
      return head.form == .json ? try method.request(body) : body
    } catch {
      call.messageIsUnreadable(error)
      return Self.unreadableMessage
    }
  }

  private func inflated(_ body: [UInt8], limit: Int) throws(DecodingError) -> [UInt8] {
    do throws(Gzip.Fault) {
      return try gzip.value.inflate(body, limit: limit)
    } catch {
      switch error {
      case .malformed: throw DecodingError(code: .malformed, field: "", reason: "is not gzip")
      case .tooLarge:
        throw DecodingError(
          code: .outOfBudget, field: "", reason: "has more than \(limit) bytes when it is inflated")
      }
    }
  }

  private static func maximumBodyBytes(of method: JSONMethod) -> Int {
    method.isOpen ? maximumOpenBodyBytes : maximumBodyBytes
  }
}

extension HTTPRequest {
  /// Whether a browser may have sent it for a page: of another site, whose name leads here (DNS rebinding), or of one
  /// that says so itself.
  fileprivate func mayComeFromPage(at name: String?) -> Bool {
    HTTPRoutes.mayBeRebound(self, at: name) || !head.fields.values(of: "origin").isEmpty
  }
}

/// How many calls there are whose handlers have not let go of them, and do not wait for their turn.
private final class RunningCalls: Sendable {
  private let calls = Atomic<Int>(0)

  var count: Int { calls.load(ordering: .relaxed) }
  func began() { calls.add(1, ordering: .relaxed) }
  func ended() { calls.subtract(1, ordering: .relaxed) }
}

/// One call. The first answer counts. It runs until its handler has let go of it, answered or not.
private final class ConnectCall: IncomingCall {
  let path: String
  let loop: EventLoop
  let peer: RPCPeer
  let isKnownByPlace: Bool
  private let head: HTTPRequestHead
  private let exchange: HTTPExchange
  private let method: JSONMethod
  private let form: ConnectCallHead.MessageForm
  /// Why the service gets an unreadable message.
  private let fault = Mutex<DecodingError?>(nil)
  private let measures: CallMeasures
  private let running: RunningCalls
  /// It is in a queue with bounds of its own, and not among those that run.
  private let isWaiting = Atomic<Bool>(false)

  /// On the event loop only.
  init(
    _ request: HTTPRequest, _ exchange: HTTPExchange, _ method: JSONMethod, _ form: ConnectCallHead.MessageForm,
    at place: Int, for routes: ConnectRoutes
  ) {
    path = method.path
    loop = routes.loop
    peer = RPCPeer(address: request.client, certificate: request.certificate, isEncrypted: request.isEncrypted)
    isKnownByPlace = routes.takesLocalCallers
    head = request.head
    self.exchange = exchange
    self.method = method
    self.form = form
    measures = CallMeasures(routes.meters, of: place, receivedBytes: request.body.count)
    running = routes.running
    running.began()
  }

  deinit {
    if !isWaiting.load(ordering: .relaxed) { running.ended() }
    fail(RPCError(code: .internalError, message: "the call was dropped"))
  }

  /// Includes a deadline that has passed.
  var isCancelled: Bool { exchange.isOver }

  func metadata(_ name: String) -> String? {
    let values = head.fields.values(of: name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  func messageIsUnreadable(_ error: DecodingError) {
    fault.withLock { $0 = error }
  }

  func admitted(of caller: String) {
    exchange.admitted(of: caller)
  }

  func startWaiting() {
    if !isWaiting.exchange(true, ordering: .relaxed) { running.ended() }
  }

  func stopWaiting() {
    if isWaiting.exchange(false, ordering: .relaxed) { running.began() }
  }

  // MARK: Answers

  /// Leaves out the metadata: health's version is all that there is, and probes of HTTP do not read it.
  func respond(_ message: [UInt8], initialMetadata: Metadata) {
    exchange.answer { [method, form, measures] in
      do throws(DecodingError) {
        let body = form == .json ? try method.response(message) : message
        let fields: [(StaticString, String)] = [("Content-Type", form.contentType), ("Cache-Control", "no-store")]
        return measures.ended(.ok, HTTPResponse(fields: fields, body: body))
      } catch {
        let failure = ConnectError(code: .internalError, message: "the answer could not be encoded")
        return measures.ended(failure.code, failure.response)
      }
    }
  }

  func fail(_ error: RPCError) {
    let told = error.code == .invalidArgument ? fault.withLock { $0 }.map(TouchstoneService.error) ?? error : error
    exchange.answer { [measures] in measures.ended(told.code, ConnectError(told).response) }
  }

  /// On the event loop only.
  func end(at deadline: MonotonicTime) {
    let late = ConnectError(code: .deadlineExceeded, message: "the service did not answer in time")
    exchange.answer(at: deadline) { [measures] in measures.ended(late.code, late.response) }
  }
}

extension ConnectError {
  fileprivate init(_ error: RPCError) {
    let details = JSONDetail.all(ofStatus: error.metadata.firstBinary("grpc-status-details-bin") ?? [])
    self.init(
      code: error.code, message: error.message,
      details: details.map { Detail(type: $0.type, value: $0.bytes, debug: $0.json) })
  }
}

/// The metrics of one call. Used on the event loop only.
private struct CallMeasures: Sendable {
  private let meters: LoopConfined<CallMeters>
  private let place: Int
  private let receivedBytes: Int
  private let began = MonotonicTime.now()

  init(_ meters: LoopConfined<CallMeters>, of place: Int, receivedBytes: Int) {
    (self.meters, self.place, self.receivedBytes) = (meters, place, receivedBytes)
    meters.value.callBegan(place)
  }

  /// Returns the response.
  func ended(_ code: RPCCode, _ response: HTTPResponse) -> HTTPResponse {
    meters.value.callEnded(
      RPCEndedCall(
        method: place, code: code, nanoseconds: (MonotonicTime.now() - began).wholeNanoseconds,
        sentBytes: response.body.count, receivedBytes: receivedBytes))
    return response
  }
}
