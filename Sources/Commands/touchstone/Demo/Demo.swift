// `touchstone demo`: the service and a simulated phone, from the first binding to a lockout and back.

internal import ArgumentParser
internal import CommandProgram
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import SimulatedPhone
internal import TouchstoneAttestation
internal import TouchstoneClient
internal import TouchstoneServer
internal import TouchstoneService

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Watch a simulated phone bind, log in, pay, lock itself out and recover.",
    discussion: """
      Starts the service on a free port with data of its own, which is removed afterwards. Exits 0 only if every \
      answer was what the rules say.
      """)

  func run() throws {
    do throws(Failure) {
      let directory = try TemporaryDirectory()
      do throws(Failure) {
        try start(in: directory)
      } catch {
        directory.remove()
        throw error
      }
    } catch {
      fail(error)
    }
    dispatchMain()
  }

  /// Ends the process after the story.
  private func start(in directory: TemporaryDirectory) throws(Failure) {
    var configuration = ProcessConfiguration()
    configuration.listen = ["127.0.0.1:0"]
    configuration.dataDirectory = directory.path + "/data"
    configuration.service.applications = [
      DemoStory.shop: AttestationRequirements(
        passkeys: PasskeyRequirements(rpID: DemoStory.page.rpID, origins: [DemoStory.page.origin])),
      DemoStory.bank: AttestationRequirements(demand: .required, appIDs: [DemoStory.bankApp]),
    ]
    configuration.trustAppAttest(byRootsIn: try directory.write(DemoStory.appAttestRootPEM, to: "app-attest.pem"))
    let clock = DemoClock()
    let dataDirectory = configuration.dataDirectory
    let service = try RunningService.start(
      configuration, logger: standardErrorLogger(), clock: { clock.now })
    Task {
      let hasPassed = await Self.tell(service, clock, dataDirectory: dataDirectory)
      service.stop(grace: .seconds(5)) {
        directory.remove()
        Program.end(hasPassed ? EXIT_SUCCESS : ExitStatus.wrongAnswer.rawValue)
      }
    }
  }

  private static func tell(_ service: RunningService, _ clock: DemoClock, dataDirectory: String) async -> Bool {
    let client = TouchstoneClient(configuration: TouchstoneClientConfiguration(target: "\(service.addresses[0])"))
    let narrator = Narrator()
    narrator.title("touchstone serves on \(service.addresses[0]); \(DemoStory.cast)")
    var hasPassed = false
    do throws(WrongAnswer) {
      try await DemoStory(client: client, narrator: narrator, clock: clock, dataDirectory: dataDirectory).tell()
      narrator.title("Every answer was as the rules say.")
      hasPassed = true
    } catch {
      narrator.failure(error)
    }
    await client.close()
    return hasPassed
  }
}

/// The demo's directory, under the system's temporary one.
private final class TemporaryDirectory: Sendable {
  let path: String

  init() throws(Failure) {
    var template = Array("/tmp/touchstone-demo-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw Failure(kind: .unwritableData, message: "no temporary directory: \(String(cString: strerror(errno)))")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// - Returns: the file's path.
  func write(_ text: String, to name: String) throws(Failure) -> String {
    let file = "\(path)/\(name)"
    do {
      try Data(text.utf8).write(to: URL(filePath: file))
    } catch {
      throw Failure(kind: .unwritableData, message: "\(file): \(error)")
    }
    return file
  }

  /// Removes the directory and its content. The system cleans up files that cannot be removed.
  func remove() {
    try? FileManager.default.removeItem(atPath: path)
  }
}
