// A million calls through a channel: memory that does not grow, and what the channel adds to a call. `make bench
// WHAT=pool`.
//
// Two servers and their client in one process. In each hundred calls one is refused once and retried; now and then
// other channels are made and dropped. Exits with 1 where memory has grown or a call failed.

import Glibc
import RPCChannel

private let calls = getenv("CALLS").flatMap { Int(String(cString: $0)) } ?? 1_000_000
private let concurrency = 80
/// Once warm, this much is noise: freed pages that the allocator keeps.
private let toleratedGrowthBytes = 4 << 20
private let parts = 10
let bench = try PoolBench()

print("CPU of client and server together, a call:")
for _ in 0..<3 {
  let bare = bench.cost(of: calls / 20, by: bench.callBare)
  let channel = bench.cost(of: calls / 20, by: bench.callChannel)
  print("  bare connection \(hundredths(bare)) µs, channel \(hundredths(channel)) µs")
}

print("resident memory through \(calls) calls, \(concurrency) at a time:")
var warm = 0
for part in 1...parts {
  bench.run(calls / parts, concurrency: concurrency, by: bench.callMixed)
  bench.makeOtherChannels()
  let resident = residentBytes()
  if part == 2 { warm = resident }
  print("  \(part * calls / parts): \(resident >> 10) KiB")
}
let statistics = bench.channel.statistics
print(
  "\(statistics.attempts) attempts, \(statistics.retries) retries, \(statistics.failures) failures")
exit(residentBytes() - warm > toleratedGrowthBytes || statistics.failures > 0 ? 1 : 0)

private func hundredths(_ value: Double) -> Double { (value * 100).rounded() / 100 }

/// proc(5), the second field of statm.
private func residentBytes() -> Int {
  guard let file = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 128)
  guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
  let fields = line.prefix { $0 != 0 }.split(separator: CChar(UInt8(ascii: " ")))
  let pages = fields[1].reduce(0) { $0 * 10 + Int($1) - 0x30 }
  return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
}
