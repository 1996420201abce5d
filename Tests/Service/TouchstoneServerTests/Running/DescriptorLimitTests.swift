// How many connections the limit of open files leaves.

import DispatchRPC
import Testing

@testable import TouchstoneServer

@Suite struct DescriptorLimitTests {
  @Test(arguments: [
    // The limit of open files, event loops, wanted connections, those that the server keeps.
    (1_048_576, 4, 10_000, 10_000),
    (10_144, 4, 10_000, 10_000),
    (10_143, 4, 10_000, 9_999),
    (4_096, 2, 10_000, 3_960),
    (1_024, 64, 10_000, 640),
    (1_024, 2, 100, 100),
    // The reserve does not fit: half of the descriptors are for connections.
    (200, 2, 10_000, 100),
    (0, 2, 10_000, 1),
  ])
  func theReserveStaysFree(count: Int, eventLoops: Int, wanted: Int, kept: Int) {
    var server = RPCServerConfiguration(eventLoops: eventLoops)
    server.maxConnections = wanted
    let log = LogLines()
    DescriptorLimit(count: count).bound(&server, beside: 0, logger: log.logger)
    #expect(server.maxConnections == kept)
    let warnings = log.lines.filter { $0.level == "warning" }
    #expect(warnings.count == (kept < wanted ? 1 : 0))
    for warning in warnings {
      #expect(warning.text.contains("may open only \(count) files"))
      #expect(warning.text.contains("at most \(kept) connections and not \(wanted)"))
    }
  }

  @Test(arguments: [
    // The limit of open files, the connections of one HTTP address, and what two of them leave to gRPC.
    (1_048_576, 256, 10_000),
    (4_096, 256, 3_448),
    (1_024, 64, 760),
    (200, 12, 76),
    (0, 1, 1),
  ])
  func anHTTPAddressTakesASixteenthAtMost(count: Int, http: Int, grpc: Int) {
    let descriptors = DescriptorLimit(count: count)
    #expect(descriptors.httpConnections(wanted: 256) == http)
    #expect(min(10_000, descriptors.connections(eventLoops: 2, beside: 2 * http)) == grpc)
  }

  @Test func theLogSaysOnceASecondThatDescriptorsRanOut() {
    let log = LogLines()
    let descriptors = DescriptorLog(log.logger)
    for _ in 0..<1_000 { descriptors.ranOut() }
    #expect((1...2).contains(log.lines.count))
    #expect(log.lines[0].text.contains("raise the limit of open files"))
  }
}
