// `touchstone-load run`, which needs no name: a load of phones, its report, its exit code.

internal import ArgumentParser
internal import LoadScenarios
internal import ServiceDestination

struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Send calls, and report what became of each.",
    discussion: """
      Without --rate or --shape: connections × streams callers, each of which starts anew when it was answered. With a rate, \
      calls are sent when they are due, whether the ones before were answered or not. Latency counts from when a call was due.

      A login is a BeginEvaluation, a signature by the phone's own P-256 key and a SubmitAttempt, and counts only where it \
      succeeded.

      Exit codes: 0 the run is valid and meets its objectives; 99 an objective is missed, or there are errors without \
      --allow-errors; 70 the client itself was the limit; 64 a wrong option; 69 the service cannot be reached.
      """)

  @OptionGroup var destination: Destination
  @OptionGroup var load: LoadOptions
  @OptionGroup var judgement: Judgement
  @OptionGroup var outputs: Outputs

  @OptionGroup var work: WorkOptions

  @Option(help: "Right passcodes a second, typed beside the scenario by people of their own.")
  var passcodes = 0

  @Option(
    help: ArgumentHelp(
      "Phones are random ones of so many bindings that were written into the store before. (default: phones of its own)",
      valueName: "bindings"))
  var seeded: Int?

  @Flag(help: "Print the public keys that bindings are to be seeded with, and end.")
  var printSeededKeys = false

  private static let passcodeRange = 0...1_000

  func validate() throws {
    try LoadOptions.check("passcodes", passcodes, Self.passcodeRange)
    if let seeded { try LoadOptions.check("seeded", seeded, 1...Int.max) }
    guard seeded == nil || work.phones == nil else { throw ValidationError("--seeded and --phones exclude each other") }
    if load.findMax, judgement.slo == nil { throw ValidationError("--find-max needs --slo") }
  }

  func run() throws {
    if printSeededKeys {
      for key in SeededPhones(count: 1).publicKeys { print(key) }
      return
    }
    let session: LoadSession
    let access: PhoneAccess
    let scenario: Scenario
    do throws(LoadError) {
      scenario = try work.readScenario(isSeeded: seeded != nil)
      session = try LoadSession(load, judgement, outputs, at: destination.targets)
      access = try PhoneAccess(destination, load)
    } catch {
      error.end()
    }
    let (phoneFile, passcodes) = (work.phones, passcodes)
    let seeded = seeded.map { SeededPhones(count: $0) }
    session.run { () async throws(LoadError) in
      try await PhoneService(
        scenario, access, session.settings, phoneFile: phoneFile, passcodes: passcodes, seeded: seeded)
    }
  }
}
