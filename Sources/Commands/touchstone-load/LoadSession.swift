// A command's whole life: reach the service, load it, judge, report, and end with the verdict's exit code.

internal import CommandProgram
internal import Dispatch
internal import Glibc
internal import LoadModel

struct LoadSession: Sendable {
  let settings: LoadSettings
  let shape: LoadShape
  let judgement: Judgement
  let outputs: Outputs
  /// Search the highest rate, instead of a run in this shape.
  let findsMaximum: Bool

  /// A search begins here if no rate is given, in flows per second.
  private static let firstRate = 100.0

  init(_ load: LoadOptions, _ judgement: Judgement, _ outputs: Outputs, at targets: [String]) throws(LoadError) {
    settings = try load.settings(targets)
    shape = load.loadShape
    self.judgement = judgement
    self.outputs = outputs
    findsMaximum = load.findMax
  }

  /// Ends the process after the load. Its type must not say that it never returns: Swift 6.3.1's optimizer would leave
  /// out copies into the closure.
  ///
  /// - Parameter makeService: prepares the service; all runs use it.
  func run(_ makeService: @escaping @Sendable () async throws(LoadError) -> PhoneService) {
    signal(SIGPIPE, SIG_IGN)
    Task {
      do throws(LoadError) {
        let runner = LoadRunner(settings, try await makeService())
        let report = try await findsMaximum ? findMaximum(runner) : measure(runner, shape)
        try outputs.write(report)
        Program.end(report.exitCode)
      } catch {
        error.end()
      }
    }
    DispatchSemaphore(value: 0).wait()
  }

  private func measure(_ runner: LoadRunner, _ shape: LoadShape) async throws(LoadError) -> LoadReport {
    var report = try await runner.run(shape, watching: outputs.liveView)
    judgement.judge(&report)
    return report
  }

  /// The report is that of the highest rate that met the objectives, or else of the lowest that did not.
  private func findMaximum(_ runner: LoadRunner) async throws(LoadError) -> LoadReport {
    var search = RateSearch(from: shape.isClosed ? Self.firstRate : shape.peakRate)
    var best: LoadReport?
    var lowestMiss: LoadReport?
    var trials: [LoadReport.SearchEntry.Trial] = []
    while let trial = search.trial {
      let report = try await measure(runner, LoadShape(.constant(trial)))
      let isMet = report.verdict == .valid
      search.record(trial, isMet: isMet)
      trials.append(LoadReport.SearchEntry.Trial(report, rate: trial, isMet: isMet))
      outputs.liveView?.note("\(trial.fixed(0))/s: \(isMet ? "met" : report.reasons.joined(separator: "; "))")
      if !isMet, trial == search.missed { lowestMiss = report }
      // The lowest miss stands for all until a trial meets the objectives.
      let isBetter = isMet && trial == search.met
      if isBetter || best == nil || (search.met == nil && trial == search.missed) { best = report }
    }
    guard var best else { preconditionFailure("a search has a first trial") }
    if search.met != nil, let lowestMiss, lowestMiss.verdict == .clientLimited {
      // It is not the service's knee that was found.
      best.verdict = .clientLimited
      best.exitCode = lowestMiss.exitCode
      best.reasons = lowestMiss.reasons
    }
    best.search = LoadReport.SearchEntry(maxRate: search.met, trials: trials)
    return best
  }
}

extension LoadError {
  func end() -> Never {
    Program.write("touchstone-load: \(description)\n", to: STDERR_FILENO)
    Program.end(exitCode)
  }
}
