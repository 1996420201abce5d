// The load: calls in a closed loop, or at a rate that no answer changes.

import Dispatch
import DispatchRPC
import Glibc
import Synchronization

/// Latencies in ms.
struct Latencies {
  private var values: [Double] = []

  var count: Int { values.count }

  mutating func add(_ value: Double) { values.append(value) }
  mutating func sort() { values.sort() }

  /// Returns a percentile; the values must be sorted.
  func percentile(_ part: Double) -> Double {
    values.isEmpty ? 0 : values[Int(Double(values.count - 1) * part)]
  }
}

struct OpenRun {
  var rate: Double
  var seconds: Int
  var served = Latencies()
  var refused = Latencies()

  var goodput: Double { Double(served.count) / Double(seconds) }

  func row(load: Double) -> String {
    let refusedPart = Double(refused.count) / Double(max(1, refused.count + served.count))
    let columns = [
      rounded(load, 1) + "×", "\(Int(rate))", "\(Int(goodput))", rounded(refusedPart * 100, 1) + " %",
      rounded(served.percentile(0.5), 1), rounded(served.percentile(0.99), 1), rounded(refused.percentile(0.99), 1),
    ]
    return zip(columns, [6, 12, 11, 10, 9, 9, 17]).map { padded($0, to: $1) }.joined()
  }
}

final class LoadClient: Sendable {
  private static let request = RPCClientRequest(path: "/bench/Burn", message: [UInt8](repeating: 7, count: 100))
  /// Calls due within this are sent together.
  private static let tick = Duration.microseconds(500)

  private let loop = EventLoop(label: "bench.load")
  private let connections: [RPCClientConnection]

  init(address: SocketAddress, connections count: Int) {
    let isUp = DispatchSemaphore(value: 0)
    connections = (0..<count).map { [loop] _ in
      RPCClientConnection(address: address, loop: loop, configuration: RPCClientConfiguration()) { event in
        if case .connected = event { isUp.signal() }
      }
    }
    for connection in connections { connection.connect() }
    for _ in connections { isUp.wait() }
  }

  /// Calls a second, always so many at one time.
  func runClosed(calls: Int, seconds: Int) -> Double {
    let end = MonotonicTime.now().advanced(by: .seconds(seconds))
    let count = Counter()
    let isDone = DispatchSemaphore(value: 0)
    @Sendable func next(_ connection: RPCClientConnection) {
      guard MonotonicTime.now() < end else {
        isDone.signal()
        return
      }
      connection.start(Self.request) { result in
        guard case .success = result else { fatalError("a closed loop is refused nothing: \(result)") }
        count.value.add(1, ordering: .relaxed)
        next(connection)
      }
    }
    for index in 0..<calls { next(connections[index % connections.count]) }
    for _ in 0..<calls { isDone.wait() }
    return Double(count.value.load(ordering: .relaxed)) / Double(seconds)
  }

  func runOpen(rate: Double, seconds: Int) -> OpenRun {
    let began = MonotonicTime.now()
    let total = Int(rate * Double(seconds))
    let run = Mutex(OpenRun(rate: rate, seconds: seconds))
    let isDone = DispatchSemaphore(value: 0)
    let state = Shared(run: run, isDone: isDone, remaining: total)
    var sent = 0
    while sent < total {
      let due = min(total, Int(rate * (began.duration(to: .now()) / .seconds(1))))
      let batch = sent..<max(sent, due)
      sent = batch.upperBound
      if !batch.isEmpty {
        loop.execute { [connections] in
          for index in batch {
            let time = began.advanced(by: .seconds(1) * (Double(index) / rate))
            connections[index % connections.count].start(Self.request) { state.ended(due: time, $0) }
          }
        }
      }
      usleep(UInt32(Self.tick / .microseconds(1)))
    }
    isDone.wait()
    return state.sorted()
  }
}

private final class Counter: Sendable {
  let value = Atomic(0)
}

/// The results of a run's calls so far.
private final class Shared: Sendable {
  private let run: Mutex<OpenRun>
  private let isDone: DispatchSemaphore
  private let remaining: Atomic<Int>

  init(run: consuming Mutex<OpenRun>, isDone: DispatchSemaphore, remaining: Int) {
    self.run = run
    self.isDone = isDone
    self.remaining = Atomic(remaining)
  }

  func ended(due: MonotonicTime, _ result: Result<RPCResponse, RPCError>) {
    let latency = due.duration(to: .now()) / .milliseconds(1)
    run.withLock { run in
      switch result {
      case .success: run.served.add(latency)
      case .failure(let error) where error.metadata.first("grpc-retry-pushback-ms") != nil: run.refused.add(latency)
      case .failure(let error): fatalError("neither served nor refused: \(error)")
      }
    }
    if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { isDone.signal() }
  }

  func sorted() -> OpenRun {
    run.withLock { run in
      run.served.sort()
      run.refused.sort()
      return run
    }
  }
}

func rounded(_ value: Double, _ digits: Int) -> String {
  var scale = 1.0
  for _ in 0..<digits { scale *= 10 }
  let number = (value * scale).rounded() / scale
  return "\(number)"
}

private func padded(_ text: String, to width: Int) -> String {
  String(repeating: " ", count: max(0, width - text.count)) + text
}
