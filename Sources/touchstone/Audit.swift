// `touchstone audit verify`: is the audit log whole, and unaltered?

internal import ArgumentParser
internal import Dispatch
internal import Synchronization
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

struct Audit: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "The audit log.", subcommands: [Verify.self])

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Verify the hash chain of a stopped service's audit log.",
      discussion: """
        Exits 0 where every event follows from the one before. Otherwise names the first that was altered, dropped or \
        reordered, and exits 65.
        """)

    @Option(help: ArgumentHelp("The service's data directory.", valueName: "directory"))
    var dataDir: String

    /// Events read at a time: some 200 KiB.
    private static let pageSize = 1_000

    func run() throws {
      do throws(Failure) {
        let store = try RunningService.openStore(dataDir)
        let count = try Self.verify(store)
        printLine("\(count) events, each as it was written")
        let closed = DispatchGroup()
        closed.enter()
        store.close { closed.leave() }
        closed.wait()
      } catch {
        fail(error)
      }
    }

    private static func verify(_ store: SQLiteStore) throws(Failure) -> UInt64 {
      let head = try wait { store.eventChainHead(completion: $0) }
      var verifier = EventChainVerifier()
      while true {
        let after = verifier.head.sequence
        let events = try wait {
          store.events(
            matching: EventFilter(applicationID: ""), afterSequence: after, limit: pageSize, completion: $0)
        }
        do throws(EventChainVerifier.Fault) {
          for event in events { try verifier.verify(event) }
          guard events.count < pageSize else { continue }
          try verifier.conclude(at: head)
          return verifier.verifiedCount
        } catch {
          throw Failure(status: .corruptData, message: error.description)
        }
      }
    }

    /// A command does one thing after the other, so it may block.
    private static func wait<Value: Sendable>(
      for request: (@escaping @Sendable (Result<Value, StoreError>) -> Void) -> Void
    ) throws(Failure) -> Value {
      let answered = DispatchSemaphore(value: 0)
      let answer = Mutex<Result<Value, StoreError>?>(nil)
      request { result in
        answer.withLock { $0 = result }
        answered.signal()
      }
      answered.wait()
      switch answer.withLock({ $0 }) {
      case .success(let value): return value
      case .failure(let error): throw Failure(status: .corruptData, message: error.message)
      case nil: preconditionFailure("signalled without an answer")
      }
    }
  }
}
