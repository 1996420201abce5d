// grpc.reflection.v1 and v1alpha: the services and their .proto files, for tools that have no copy of the files.

internal import DispatchRPC
internal import TouchstoneCodec

/// Answers from compiled descriptors, so no answer depends on stored records.
final class Reflection: Sendable {
  /// A tool has one stream open, for the time of one command.
  private static let maximumStreams = 256
  private static let maximumStreamsPerCaller = 64

  private let files = ProtoFiles.compiled
  private let services: [String]
  private let streams = OpenStreams<ReflectionStream>(.init(all: maximumStreams, perCaller: maximumStreamsPerCaller))

  /// - Parameter services: the full names of the services.
  init(services: [String]) {
    self.services = services
  }

  func open(_ exchange: StreamExchange<GRPCReflection.Response>) throws(RequestError) -> MethodTable.StreamEvents {
    let stream = ReflectionStream(reflection: self, exchange: exchange)
    try streams.add(stream, of: .caller(exchange.caller.identity))
    exchange.stream.onCancel { [streams] _ in streams.remove(stream) }
    exchange.stream.request(1)
    return { stream.take($0) }
  }

  func drain() {
    streams.drain()
  }

  fileprivate func forget(_ stream: ReflectionStream) {
    streams.remove(stream)
  }

  // MARK: Answers

  func answer(to request: GRPCReflection.Request) -> GRPCReflection.Response {
    GRPCReflection.Response(
      validHost: request.host, originalRequest: request, messageResponse: answer(to: request.messageRequest))
  }

  private func answer(to question: GRPCReflection.Request.MessageRequest?) -> GRPCReflection.Response.MessageResponse {
    switch question {
    case .listServices:
      let names = services.map { GRPCReflection.ServiceResponse(name: $0) }
      return .listServicesResponse(GRPCReflection.ListServiceResponse(service: names))
    case .fileByFilename(let name):
      return found(files.file(named: name)) ?? .error(.notFound, "there is no such file")
    case .fileContainingSymbol(let symbol):
      return found(files.file(declaring: symbol)) ?? .error(.notFound, "there is no such symbol")
    case .fileContainingExtension:
      return .error(.notFound, "there is no such extension")
    case .allExtensionNumbersOfType(let type):
      guard files.isMessage(type) else { return .error(.notFound, "there is no such message") }
      return .allExtensionNumbersResponse(GRPCReflection.ExtensionNumberResponse(baseTypeName: type))
    case nil:
      return .error(.invalidArgument, "the request is empty")
    }
  }

  private func found(_ files: [[UInt8]]?) -> GRPCReflection.Response.MessageResponse? {
    files.map { .fileDescriptorResponse(GRPCReflection.FileDescriptorResponse(fileDescriptorProto: $0)) }
  }
}

extension GRPCReflection.Response.MessageResponse {
  fileprivate static func error(_ code: RPCCode, _ message: String) -> Self {
    .errorResponse(GRPCReflection.ErrorResponse(errorCode: Int32(code.rawValue), errorMessage: message))
  }
}

/// One call: a request is read when the client has read the answers before it.
///
/// `@unchecked Sendable`: used only on the call's event loop.
private final class ReflectionStream: OpenStream, @unchecked Sendable {
  /// A tool requests each file and symbol once; there are some hundred.
  private static let maximumRequests = 1_000

  private let reflection: Reflection
  let exchange: StreamExchange<GRPCReflection.Response>
  private var requestCount = 0
  /// The next request is read when the client has read some answers.
  private var isWaiting = false

  init(reflection: Reflection, exchange: StreamExchange<GRPCReflection.Response>) {
    self.reflection = reflection
    self.exchange = exchange
  }

  func take(_ event: RPCServerStreamEvent) {
    switch event {
    case .message(let bytes):
      do throws(RequestError) { try answer(bytes) } catch { end { exchange.refuse(error) } }
    case .end:
      end { exchange.stream.finish() }
    case .writable:
      guard isWaiting else { return }
      isWaiting = false
      exchange.stream.request(1)
    }
  }

  private func answer(_ bytes: UnsafeRawBufferPointer) throws(RequestError) {
    requestCount += 1
    guard requestCount <= Self.maximumRequests else { throw .tooManyRequests }
    let request: GRPCReflection.Request = try exchange.decode(bytes)
    exchange.send(reflection.answer(to: request))
    isWaiting = !exchange.stream.isWritable
    if !isWaiting { exchange.stream.request(1) }
  }

  func leave(_ error: RequestError) {
    end { exchange.refuse(error) }
  }

  private func end(_ body: () -> Void) {
    body()
    reflection.forget(self)
  }
}

extension RequestError.Reason {
  fileprivate static let tooManyRequests = "TOO_MANY_REQUESTS"
}

extension RequestError {
  fileprivate static let tooManyRequests = RequestError(
    code: .resourceExhausted, message: "too many requests in one call; make another", reason: Reason.tooManyRequests)
}

extension TouchstoneService {
  func registerReflection(_ methods: inout MethodTable) {
    guard let reflection else { return }
    for method in [
      GRPCReflection.ServerReflection.serverReflectionInfo, GRPCReflectionV1Alpha.ServerReflection.serverReflectionInfo,
    ] {
      register(method, in: &methods) { exchange throws(RequestError) in try reflection.open(exchange) }
    }
  }
}
