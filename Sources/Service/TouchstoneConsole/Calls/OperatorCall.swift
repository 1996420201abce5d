// A call of the API in this process, by an operator: the same handlers, grants and events as for callers over gRPC.

internal import Dispatch
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneService

/// One unary call under way. The first answer counts.
final class OperatorCall: IncomingCall {
  typealias Answer = Result<[UInt8], RPCError>

  let path: String
  let loop: ConsoleLoop
  let peer: RPCPeer
  let identifiedCaller: IdentifiedCaller?
  private let language: Language
  private let continuation: Mutex<CheckedContinuation<Answer, Never>?>

  init(
    _ path: String, by caller: IdentifiedCaller, from peer: RPCPeer, in language: Language, on loop: ConsoleLoop,
    _ continuation: CheckedContinuation<Answer, Never>
  ) {
    self.path = path
    self.loop = loop
    self.peer = peer
    identifiedCaller = caller
    self.language = language
    self.continuation = Mutex(continuation)
  }

  /// The page was answered without it.
  var isCancelled: Bool { continuation.withLock { $0 == nil } }

  func metadata(_ name: String) -> String? {
    name == "accept-language" ? language.tag : nil
  }

  func respond(_ message: [UInt8], initialMetadata: Metadata) {
    end(.success(message))
  }

  func fail(_ error: RPCError) {
    end(.failure(error))
  }

  private func end(_ answer: Answer) {
    let continuation = continuation.withLock { continuation in
      defer { continuation = nil }
      return continuation
    }
    continuation?.resume(returning: answer)
  }
}

/// Why a call has no answer.
struct CallFailure: Error, Sendable {
  var code: RPCCode
  /// English, for developers.
  var message: String
  /// Each wrong field of the request, by the API's name, and what is wrong with it.
  var violations: [(field: String, description: String)] = []
  /// The reason in ErrorInfo.
  var reason: String?
  /// For people, in the operator's language, if the service has one.
  var localizedMessage: String?

  init(code: RPCCode, message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: RPCError) {
    self.init(code: error.code, message: error.message)
    guard let bytes = error.metadata.firstBinary("grpc-status-details-bin"),
      let status = try? RPCDetail.Status.decoded(from: bytes)
    else {
      return
    }
    for detail in status.details {
      if case .badRequest(let request) = detail {
        violations = request.fieldViolations.map { ($0.field, $0.description) }
      }
      if case .errorInfo(let info) = detail { reason = info.reason }
      if case .localizedMessage(let message) = detail { localizedMessage = message.message }
    }
  }
}

/// The API for one operator and one request.
struct OperatorCalls: Sendable {
  /// A browser's user does not wait longer. The store's own limits are shorter.
  static let timeout = Duration.seconds(15)

  let service: TouchstoneService
  let methods: MethodTable
  let loop: ConsoleLoop
  var caller: IdentifiedCaller
  let peer: RPCPeer
  let language: Language

  func callAsFunction<Request: WireMessage, Response: WireMessage>(
    _ method: WireMethod<Request, Response>, _ request: Request
  ) async throws(CallFailure) -> Response {
    let coder = MessageCoder(limits: .answers)
    let bytes: [UInt8]
    do throws(EncodingError) {
      bytes = try coder.encode(request)
    } catch {
      throw CallFailure(code: .invalidArgument, message: "\(error.field): \(error.reason)")
    }
    let answer = await answer(to: bytes, of: method.path)
    switch answer {
    case .failure(let error): throw CallFailure(error)
    case .success(let bytes):
      do throws(DecodingError) {
        return try coder.decode(Response.self, from: bytes)
      } catch {
        throw CallFailure(code: .internalError, message: "the answer cannot be read: \(error.reason)")
      }
    }
  }

  private func answer(to request: [UInt8], of path: String) async -> OperatorCall.Answer {
    await withCheckedContinuation { continuation in
      let call = OperatorCall(path, by: caller, from: peer, in: language, on: loop, continuation)
      loop.execute(after: Self.timeout) {
        call.fail(RPCError(code: .deadlineExceeded, message: "the service did not answer in time"))
      }
      loop.execute { [methods] in
        request.withUnsafeBytes { methods.dispatch(call, $0) }
      }
    }
  }
}

/// The event loop on which the console's calls run: a queue of its own, so that no page delays callers of the RPC
/// server.
final class ConsoleLoop: CallLoop {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  let index: Int
  private let queue = DispatchQueue(label: "touchstone.console")
  private let onRoundEnd: @Sendable (ConsoleLoop) -> Void

  /// - Parameters:
  ///   - index: the service's last event loop, which no RPC server uses.
  ///   - onRoundEnd: runs after each piece of work. A call that waited for the store may have collected signatures.
  init(index: Int, onRoundEnd: @escaping @Sendable (ConsoleLoop) -> Void) {
    (self.index, self.onRoundEnd) = (index, onRoundEnd)
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
  }

  var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

  func execute(_ work: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      work()
      onRoundEnd(self)
    }
  }

  func execute(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + .microseconds(Int(delay.components.seconds * 1_000_000)), execute: work)
  }
}
