// The server under test: a handler that costs a known amount of CPU.

import DispatchRPC
import Glibc
import Synchronization

/// Where the arithmetic's result goes, so that the compiler does not leave it out.
private let sink = Atomic<UInt64>(0)

/// So many rounds of arithmetic as take the time wanted on an idle core.
struct Work: Sendable {
  private let rounds: Int

  init(cost: Duration) {
    let probe = 1_000_000
    // The fastest of several: the others were interrupted.
    let duration = (0..<10).map { _ in
      let began = MonotonicTime.now()
      Self.burn(probe)
      return began.duration(to: .now())
    }.min()!
    rounds = max(1, Int(Double(probe) * (cost / duration)))
  }

  func run() {
    Self.burn(rounds)
  }

  @inline(never)
  private static func burn(_ rounds: Int) {
    var value = sink.load(ordering: .relaxed) | 1
    for _ in 0..<rounds {
      value ^= value << 13
      value ^= value >> 7
      value ^= value << 17
    }
    sink.store(value, ordering: .relaxed)
  }
}

struct RunningServer {
  let server: RPCServer
  let address: SocketAddress
}

func startServer(_ work: Work) throws -> RunningServer {
  var router = RPCRouter()
  router.register("/bench/Burn") { call, message in
    work.run()
    call.respond(Array(message))
  }
  let server = RPCServer(configuration: RPCServerConfiguration(eventLoops: 1), router: router)
  return RunningServer(server: server, address: try server.listen(host: "127.0.0.1", port: 0))
}

/// From the environment.
func setting(_ name: String, _ standard: Int) -> Int {
  getenv(name).flatMap { Int(String(cString: $0)) } ?? standard
}
