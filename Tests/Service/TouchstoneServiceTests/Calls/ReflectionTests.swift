import DispatchRPC
import Testing
import TouchstoneCodec

@testable import TouchstoneService

/// Server reflection, as tools without .proto files see it.
struct ReflectionTests {
  private static let paths = ["v1", "v1alpha"].map { "/grpc.reflection.\($0).ServerReflection/ServerReflectionInfo" }

  private let bench = InProcessService()

  @Test(arguments: paths) func everyServiceThatIsServedIsListed(_ path: String) throws {
    let answers = try ask([.listServices("")], path)
    guard case .listServicesResponse(let list)? = answers.first?.messageResponse else {
      Issue.record("no list: \(answers)")
      return
    }
    let served = Set(bench.service.methods.paths.compactMap { $0.split(separator: "/").first.map(String.init) })
    #expect(list.service.map(\.name) == served.sorted())
  }

  @Test(arguments: paths) func everyMethodThatIsServedIsDescribed(_ path: String) throws {
    for method in bench.service.methods.paths {
      let symbol = method.dropFirst().split(separator: "/").joined(separator: ".")
      let answer = try #require(ask([.fileContainingSymbol(symbol)], path).first)
      guard case .fileDescriptorResponse(let files)? = answer.messageResponse else {
        Issue.record("\(symbol): \(answer)")
        continue
      }
      #expect(!files.fileDescriptorProto.isEmpty)
    }
  }

  @Test func everyAnswerSaysToWhatAndTheyComeInOrder() throws {
    let questions: [GRPCReflection.Request.MessageRequest] = [
      .fileByFilename("touchstone/v1/types.proto"), .listServices("*"), .fileByFilename("none.proto"),
      .allExtensionNumbersOfType("touchstone.v1.Event"),
    ]
    let answers = try ask(questions, Self.paths[0])
    #expect(answers.map { $0.originalRequest?.messageRequest } == questions)
    #expect(answers.allSatisfy { $0.validHost == "here" })
    guard case .allExtensionNumbersResponse(let extensions)? = answers.last?.messageResponse else {
      Issue.record("\(answers)")
      return
    }
    #expect(extensions == GRPCReflection.ExtensionNumberResponse(baseTypeName: "touchstone.v1.Event"))
  }

  @Test(arguments: [
    (GRPCReflection.Request.MessageRequest?.some(.fileByFilename("none.proto")), RPCCode.notFound),
    (.fileContainingSymbol("touchstone.v1.None"), .notFound), (.fileContainingSymbol(""), .notFound),
    (.fileContainingExtension(GRPCReflection.ExtensionRequest(containingType: "touchstone.v1.Event")), .notFound),
    (.allExtensionNumbersOfType("touchstone.v1.TokenService"), .notFound), (nil, .invalidArgument),
  ])
  func whatIsNotKnownIsAnErrorInTheAnswerAndTheCallGoesOn(
    _ question: GRPCReflection.Request.MessageRequest?, _ code: RPCCode
  ) throws {
    let answers = try ask([question, .listServices("")], Self.paths[0])
    guard case .errorResponse(let error)? = answers.first?.messageResponse else {
      Issue.record("no error: \(answers)")
      return
    }
    #expect(error.errorCode == Int32(code.rawValue))
    #expect(!error.errorMessage.isEmpty)
    #expect(answers.count == 2)
  }

  @Test func aRequestIsReadWhenTheAnswersBeforeItAreTaken() throws {
    let stream = try bench.begin(Self.paths[0], room: 1)
    #expect(stream.requested == 1)
    try stream.deliver(GRPCReflection.Request(messageRequest: .listServices("")))
    #expect(stream.requested == 1)
    stream.take()
    #expect(stream.requested == 2)
  }

  @Test func oneCallIsGoodForAThousandRequests() throws {
    let stream = try bench.begin(Self.paths[0])
    for _ in 0..<1_000 { try stream.deliver(GRPCReflection.Request(messageRequest: .fileByFilename("?"))) }
    #expect(stream.ending == nil)
    try stream.deliver(GRPCReflection.Request())
    #expect(stream.error?.code == .resourceExhausted)
    #expect(stream.sent.count == 1_000)
  }

  @Test func garbageEndsTheCall() throws {
    let stream = try bench.begin(Self.paths[0])
    stream.deliver([0xFF])
    #expect(stream.error?.code == .invalidArgument)
  }

  @Test func theCallEndsWithItsCaller() throws {
    let stream = try bench.begin(Self.paths[0])
    stream.events(.end)
    guard case .finished = stream.ending else {
      Issue.record("not finished")
      return
    }
  }

  @Test func oneCallerMayHaveSoManyOpenAndNoMore() throws {
    let streams = try (0..<64).map { _ in try bench.begin(Self.paths[0]) }
    #expect(streams.allSatisfy { $0.ending == nil })
    #expect(try bench.begin(Self.paths[0]).error?.code == .resourceExhausted)
    streams[1].cancel()
    streams[2].events(.end)
    for _ in 0..<2 { #expect(try bench.begin(Self.paths[1]).ending == nil) }
    #expect(try bench.begin(Self.paths[0]).error?.code == .resourceExhausted)
  }

  @Test func drainingEndsIt() throws {
    let stream = try bench.begin(Self.paths[0])
    bench.service.beginDraining()
    bench.settle()
    #expect(stream.error?.code == .unavailable)
    #expect(try bench.begin(Self.paths[0]).error?.code == .unavailable)
  }

  @Test func switchedOffItIsNotServed() throws {
    let bench = InProcessService { $0.servesReflection = false }
    #expect(!bench.service.methods.paths.contains { $0.contains("reflection") })
    for path in Self.paths { #expect(try bench.begin(path).error?.code == .unimplemented) }
  }

  private func ask(
    _ questions: [GRPCReflection.Request.MessageRequest?], _ path: String
  ) throws -> [GRPCReflection.Response] {
    let stream = try bench.begin(path)
    for question in questions {
      try stream.deliver(GRPCReflection.Request(host: "here", messageRequest: question))
    }
    #expect(stream.requested == questions.count + 1)
    stream.cancel()
    return try stream.messages()
  }
}
