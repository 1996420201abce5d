// Asks a server what its services are made of.

internal import DispatchRPC
internal import DynamicMessages
internal import RPCChannel

struct ReflectionClient: Sendable {
  let channel: RPCChannel
  let target: String
  let options: RPCCallOptions

  private static let notFound = 5

  /// The service's file, and all that it imports.
  func descriptors(of service: String) async throws(LoadError) -> DescriptorPool {
    var pool = DescriptorPool()
    let (path, first) = try await begin(.fileWithSymbol(service))
    for file in try files(first, of: service) { pool.add(file) }
    while let missing = pool.missingFiles.first {
      let response = try await call(path, .file(name: missing))
      for file in try files(response, of: missing) { pool.add(file) }
      guard pool.missingFiles.first != missing else { throw failure("it has no file \(missing)") }
    }
    return pool
  }

  /// Begins with the newest version of reflection that the server has.
  private func begin(_ request: Reflection.Request) async throws(LoadError) -> (path: String, RPCResponse) {
    for path in Reflection.paths {
      do throws(RPCError) {
        return (path, try await channel.call(path, request.bytes, options: options))
      } catch {
        guard error.code != .unimplemented else { continue }
        throw failure(error)
      }
    }
    throw failure("it has no server reflection; --descriptor-set names a file with descriptors instead")
  }

  private func call(_ path: String, _ request: Reflection.Request) async throws(LoadError) -> RPCResponse {
    do throws(RPCError) {
      return try await channel.call(path, request.bytes, options: options)
    } catch {
      throw failure(error)
    }
  }

  private func files(_ response: RPCResponse, of name: String) throws(LoadError) -> [FileDescriptor] {
    switch try? Reflection.Response(response.message) {
    case .files(let files): return files
    case .error(Self.notFound, _): throw failure("there is no \(name)")
    case .error(let code, let message): throw failure("reflection failed with status \(code): \(message)")
    case nil: throw failure("its reflection's answer cannot be read")
    }
  }

  private func failure(_ error: RPCError) -> LoadError {
    .unreachable("\(target) cannot be reached: \(error.code): \(error.message)")
  }

  private func failure(_ reason: String) -> LoadError {
    .unreachable("\(target): \(reason)")
  }
}
