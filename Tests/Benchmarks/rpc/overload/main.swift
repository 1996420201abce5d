// Measures a server under overload: goodput and latency of the served calls, at rising loads. The client sends calls
// whether or not the earlier ones were answered.
//
// One event loop serves calls that cost `COST_US` of CPU each (100), from `CONNECTIONS` (32), `SECONDS` (5) for each
// load. The load is made in the same process, on another core: it needs a few µs a call. First a closed loop finds out
// what the event loop can serve; the other loads are multiples of that. Latencies count from when a call was due, not
// from when the load got round to sending it.
//
// Exits with 1 where, at three times what it can serve, the server serves less than 90 % of its best, or the 99th
// percentile of what it serves is twice what it was at its best, or more.

import Glibc

let cost = Duration.microseconds(setting("COST_US", 100))
let connections = setting("CONNECTIONS", 32)
let seconds = setting("SECONDS", 5)
let loads = [0.5, 0.8, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0]

let work = Work(cost: cost)
let server = try startServer(work)
let client = LoadClient(address: server.address, connections: connections)

/// All of these at one time: few enough that nothing is refused, and enough that the server never waits.
let capacity = client.runClosed(calls: 64, seconds: 3)
print("\(cost) of CPU for each call; the event loop serves \(Int(capacity)) calls/s")
print("  load     calls/s   served/s   refused   p50 ms   p99 ms   refused p99 ms")
var results: [OpenRun] = []
for load in loads {
  // The first second is for the server to find its balance.
  _ = client.runOpen(rate: capacity * load, seconds: 1)
  let run = client.runOpen(rate: capacity * load, seconds: seconds)
  results.append(run)
  print(run.row(load: load))
  // Line by line into a pipe, too.
  fflush(nil)
}

let best = results.max { $0.goodput < $1.goodput }!
let last = results.last!
let goodputRatio = last.goodput / best.goodput
let latencyRatio = last.served.percentile(0.99) / best.served.percentile(0.99)
let isHeld = goodputRatio >= 0.9 && latencyRatio < 2
print(
  """
  at \(loads.last!)×: goodput \(rounded(goodputRatio * 100, 1)) % of the best (at least 90), \
  p99 \(rounded(latencyRatio, 2)) times its value there (less than 2): \(isHeld ? "held" : "NOT HELD")
  """)
exit(isHeld ? 0 : 1)
