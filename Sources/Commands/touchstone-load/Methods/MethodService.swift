// One method of any gRPC service, called with one request again and again.

internal import DispatchRPC
internal import DynamicMessages
internal import LoadModel
internal import RPCChannel
internal import ServiceDestination

/// How channels to each target are made, and what is sent with each call.
struct MethodAccess: Sendable {
  private let tls: RPCClientTLS?
  let options: RPCCallOptions

  init(_ destination: Destination, _ load: LoadOptions, _ entries: [MetadataEntry]) throws(LoadError) {
    var metadata: Metadata
    (tls, metadata) = try destination.access()
    for entry in entries where !metadata.append(entry) {
      // Its value may be a secret.
      throw .usage("--metadata: the name or the value of \(entry.name) is not allowed")
    }
    options = RPCCallOptions(timeout: load.timeout.value, metadata: metadata)
  }

  /// - Parameters:
  ///   - lane: serves the connections; `nil`: threads of their own.
  ///   - callers: calls that may wait for streams rather than fail in the client.
  func channel(to target: String, on lane: LoadLane? = nil, connections: Int, callers: Int) -> RPCChannel {
    var configuration = RPCChannelConfiguration()
    configuration.minimumConnections = connections
    configuration.maximumConnections = connections
    configuration.eventLoop = lane?.loop
    configuration.maximumWaitingCalls = max(callers, configuration.maximumWaitingCalls)
    configuration.connection.userAgent = "touchstone-load"
    configuration.connection.tls = tls
    return RPCChannel(target: target, configuration: configuration)
  }
}

struct MethodService: LoadedService {
  private let method: MethodName
  private let message: [UInt8]
  private let access: MethodAccess

  /// - Parameters:
  ///   - text: the request, as JSON.
  ///   - files: descriptors of the method; `nil`: the first target's reflection has them.
  init(
    _ method: MethodName, _ text: String, _ files: [FileDescriptor]?, _ access: MethodAccess, _ targets: [String]
  ) async throws(LoadError) {
    self.method = method
    self.access = access
    let descriptors: DescriptorPool
    if let files {
      descriptors = files.reduce(into: DescriptorPool()) { $0.add($1) }
    } else {
      let channel = access.channel(to: targets[0], connections: 1, callers: 1)
      let reflection = ReflectionClient(channel: channel, target: targets[0], options: access.options)
      descriptors = try await reflection.descriptors(of: method.service)
      await channel.close(grace: .zero)
    }
    message = try method.encode(text, descriptors, isReflected: files == nil ? targets[0] : nil)
  }

  var scenario: String { "\(method.service)/\(method.method)" }

  func client(of target: String, on lane: LoadLane, connections: Int, callers: Int) -> any LoadedClient {
    MethodClient(
      target: target, service: method.service, path: method.path, message: message, options: access.options,
      channel: access.channel(to: target, on: lane, connections: connections, callers: callers))
  }
}

private struct MethodClient: LoadedClient {
  let target: String
  let service: String
  let path: String
  let message: [UInt8]
  let options: RPCCallOptions
  let channel: RPCChannel

  func perform(_ number: Int) async -> CallOutcome {
    await withUnsafeContinuation { continuation in
      channel.call(path, message, options: options) { result in
        continuation.resume(returning: CallOutcome(result))
      }
    }
  }

  func reach() async throws(LoadError) {
    do throws(RPCError) {
      _ = try await channel.call(path, message, options: options)
    } catch {
      try LoadError.check(error.code, error.message, of: target, expecting: "server of \(path.dropFirst())")
    }
  }

  var retries: Int { channel.statistics.retries }

  func close() async { await channel.close(grace: .zero) }
}

extension MethodName {
  fileprivate func encode(
    _ text: String, _ descriptors: DescriptorPool, isReflected target: String?
  ) throws(LoadError) -> [UInt8] {
    func absent(_ reason: String) -> LoadError {
      target.map { .unreachable("\($0): \(reason)") } ?? .usage("--descriptor-set: \(reason)")
    }
    let methods = descriptors.methods(ofService: service)
    guard !methods.isEmpty else { throw absent("there is no service \(service)") }
    guard let method = methods.first(where: { $0.name == method }) else {
      throw absent("\(service) has no method \(method), but \(methods.map(\.name).joined(separator: ", "))")
    }
    guard method.isUnary else { throw .usage("--method: \(service)/\(method.name) streams, and is not unary") }
    guard let json = JSONValue(text) else { throw .usage("--data is no JSON") }
    do throws(MessageError) {
      return try descriptors.encode(json, as: method.input)
    } catch {
      throw .usage("--data: \(error)")
    }
  }
}

extension CallOutcome {
  fileprivate init(_ result: Result<RPCResponse, RPCError>) {
    switch result {
    case .success: self = .succeeded
    case .failure(let error):
      self = error.code == .deadlineExceeded ? .timedOut : .failed(status: error.code.description)
    }
  }
}

extension Metadata {
  fileprivate mutating func append(_ entry: MetadataEntry) -> Bool {
    guard entry.name.hasSuffix("-bin") else { return append(entry.name, entry.value) }
    return Base64Text(entry.value).map { append(entry.name, binary: $0.bytes) } ?? false
  }
}
