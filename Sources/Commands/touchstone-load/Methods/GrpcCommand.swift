// `touchstone-load grpc`: any unary method of any gRPC service.

internal import ArgumentParser
internal import DynamicMessages
internal import LoadModel
internal import ServiceDestination

struct GrpcCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "grpc",
    abstract: "Call a unary method of any gRPC service.",
    discussion: """
      The request is written as JSON, as proto3 maps it. The service's reflection says what it is made of, or a descriptor set \
      (protoc --include_imports --descriptor_set_out). A call succeeds if its status is OK. Before the load, each address gets \
      one call, which shows that it serves the method.
      """)

  @OptionGroup var destination: Destination
  @OptionGroup var load: LoadOptions
  @OptionGroup var judgement: Judgement
  @OptionGroup var outputs: Outputs

  @Option(help: ArgumentHelp("The method.", valueName: "package.Service/Method"))
  var method: MethodName

  @Option(help: ArgumentHelp("The request as JSON, or @ and the name of its file.", valueName: "json"))
  var data = "{}"

  @Option(help: ArgumentHelp("A FileDescriptorSet, instead of reflection.", valueName: "file"))
  var descriptorSet: String?

  @Option(
    help: ArgumentHelp(
      "Sent with each call; may be repeated. Reports do not have it. The value of a name in -bin is base64.",
      valueName: "name=value"))
  var metadata: [MetadataEntry] = []

  func validate() throws {
    if load.findMax, judgement.slo == nil { throw ValidationError("--find-max needs --slo") }
  }

  func run() throws {
    let session: LoadSession
    let access: MethodAccess
    let text: String
    let files: [FileDescriptor]?
    do throws(LoadError) {
      session = try LoadSession(load, judgement, outputs, at: destination.targets)
      access = try MethodAccess(destination, load, metadata)
      text = try request()
      files = try descriptorSet.map { path throws(LoadError) in try Self.files(inSet: path) }
    } catch {
      error.end()
    }
    let method = method
    session.run { () async throws(LoadError) in
      try await MethodService(method, text, files, access, session.settings.targets)
    }
  }

  private func request() throws(LoadError) -> String {
    guard data.hasPrefix("@") else { return data }
    let path = String(data.dropFirst())
    guard let text = TextFile.read(path) else { throw .unreadable(path) }
    return text
  }

  private static func files(inSet path: String) throws(LoadError) -> [FileDescriptor] {
    guard let bytes = TextFile.bytes(path) else { throw .unreadable(path) }
    do throws(WireError) {
      return try FileDescriptor.all(inSet: bytes)
    } catch {
      throw .usage("\(path) is no FileDescriptorSet")
    }
  }
}

/// "package.Service/Method", with or without a slash before it.
struct MethodName: ExpressibleByArgument, Sendable {
  let service: String
  let method: String

  var path: String { "/\(service)/\(method)" }

  init?(argument: String) {
    let parts = (argument.hasPrefix("/") ? argument.dropFirst() : argument[...])
      .split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    (service, method) = (String(parts[0]), String(parts[1]))
  }
}

/// "name=value"
struct MetadataEntry: ExpressibleByArgument, Sendable {
  let name: String
  let value: String

  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    (name, value) = (String(parts[0]).lowercased(), String(parts[1]))
  }
}
