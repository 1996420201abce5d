// The files that server reflection returns: the .proto files as they were compiled in.

import CodecMessages
import Foundation
import Testing

@testable import TouchstoneCodec

@Suite struct ProtoFilesTests {
  private let files = ProtoFiles.compiled

  @Test func `every file of Protos is there`() throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let protos = tests.appending(path: "../../../Protos").resolvingSymlinksInPath()
    let names = try FileManager.default.subpathsOfDirectory(atPath: protos.path).filter { $0.hasSuffix(".proto") }
    #expect(names.count > 10)
    for name in names { #expect(files.file(named: name)?.first.map(Self.name) == name) }
  }

  @Test(arguments: AnyMessageType.all) func `every message is found in the file that declares it`(
    _ type: AnyMessageType
  ) throws {
    // The file is the one that Python names: `crosscheck.py` found them all by these names.
    let descriptors = try #require(files.file(declaring: type.name))
    let simpleName = Array(try #require(type.name.split(separator: ".").last).utf8)
    #expect(descriptors[0].firstRange(of: [0x0A, UInt8(simpleName.count)] + simpleName) != nil)
    #expect(files.isMessage(type.name))
  }

  @Test func `services, methods and enumerations are found, and are no messages`() {
    let symbols = [
      ("touchstone.v1.TokenService", "touchstone/v1/tokens.proto"),
      ("touchstone.v1.TokenService.ConsumeToken", "touchstone/v1/tokens.proto"),
      ("touchstone.v1.LAError", "touchstone/v1/types.proto"),
      ("grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"),
      ("grpc.reflection.v1alpha.ServerReflection", "grpc/reflection/v1alpha/reflection.proto"),
    ]
    for (symbol, name) in symbols {
      #expect(files.file(declaring: symbol)?.first.map(Self.name) == name, "\(symbol)")
      #expect(!files.isMessage(symbol))
    }
  }

  @Test func `a file comes with all that it imports, each once`() throws {
    let names = try #require(files.file(named: "touchstone/v1/administration.proto")).map(Self.name)
    #expect(names.first == "touchstone/v1/administration.proto")
    #expect(
      names.sorted() == [
        "google/protobuf/duration.proto", "google/protobuf/timestamp.proto", "touchstone/v1/administration.proto",
        "touchstone/v1/bindings.proto", "touchstone/v1/evaluation.proto", "touchstone/v1/secrets.proto",
        "touchstone/v1/types.proto",
      ])
  }

  @Test func `what is not declared is not found`() {
    for symbol in ["", ".", "touchstone", "touchstone.v1", ".touchstone.v1.TokenService", "touchstone.v1.TokenServic"] {
      #expect(files.file(declaring: symbol) == nil, "\(symbol)")
    }
    for name in ["", "tokens.proto", "/touchstone/v1/tokens.proto", "../touchstone/v1/tokens.proto"] {
      #expect(files.file(named: name) == nil, "\(name)")
    }
  }

  /// A Kelvin sign is a K to Swift's texts, and not to these.
  @Test func `names are compared by bytes`() {
    #expect(files.file(declaring: "touchstone.v1.KeyProof") != nil)
    #expect(files.file(declaring: "touchstone.v1.\u{212A}eyProof") == nil)
  }

  /// The first field of a FileDescriptorProto.
  private static func name(_ descriptor: [UInt8]) -> String {
    String(decoding: descriptor[2..<2 + Int(descriptor[1])], as: UTF8.self)
  }
}
