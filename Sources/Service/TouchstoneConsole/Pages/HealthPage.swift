// The state of this replica, and what its store shows of others. Pure.

/// The state of the process around the console at one moment. Times are Unix seconds; `nil`: never, or not known.
package struct ConsoleHealth: Sendable {
  package struct Replica: Sendable {
    /// As the database sees it.
    package var address: String
    package var connections: Int
    package var since: Int64

    package init(address: String, connections: Int, since: Int64) {
      (self.address, self.connections, self.since) = (address, connections, since)
    }
  }

  package var isServing = false
  package var version = ""
  /// Its kind and place, without secrets.
  package var store = ""
  package var startedAt: Int64?
  package var certificateEnd: Int64?
  package var clockOffsetSeconds: Double?
  package var verifiedAt: Int64?
  package var isIntact: Bool?
  package var sweptAt: Int64?
  package var archivedAt: Int64?
  package var reloadedAt: Int64?
  /// `nil`: the store has one process, or does not show its clients.
  package var replicas: [Replica]?

  package init() {}
}

struct HealthView: Sendable {
  var health: ConsoleHealth
  /// The log's ends; `nil`: the store does not answer.
  var log: ClosedRange<UInt64>?
}

extension Page {
  static func health(_ reader: Reader, _ view: HealthView) -> Page {
    let health = view.health
    let failure: HTML? = view.log == nil ? Form.notice(reader(.storeFails), isError: true) : nil
    let state: HTML =
      health.isServing
      ? "<span class=\"good\">\(reader(.serving))</span>" : "<strong class=\"bad\">\(reader(.notServing))</strong>"
    var replica: [(String, HTML)] = [
      (reader(.state), state), (reader(.version), "\(health.version)"),
      (reader(.startedAt), time(reader, health.startedAt)),
      (reader(.store), HTML.name(health.store)),
    ]
    if let end = health.certificateEnd { replica.append((reader(.certificateEnd), reader.time(end))) }
    if let offset = health.clockOffsetSeconds {
      replica.append((reader(.clockOffset), "\(reader(.clockSeconds, milliseconds(offset)))"))
    }
    let upkeep: [(String, HTML)] = [
      (reader(.sweptAt), time(reader, health.sweptAt)), (reader(.archivedAt), time(reader, health.archivedAt)),
      (reader(.reloadedAt), time(reader, health.reloadedAt)),
    ]
    return Page(
      reader(.health),
      """
      \(failure)<div class="cards">
      \(card(reader, "replica", .thisReplica, replica))
      \(card(reader, "log", .auditLog, log(reader, view)))
      \(card(reader, "upkeep", .upkeep, upkeep))
      </div>
      \(replicas(reader, health))
      """)
  }

  private static func card(_ reader: Reader, _ id: String, _ title: Phrase, _ rows: [(String, HTML)]) -> HTML {
    """
    <section class="card" aria-labelledby="\(id)">
    <h2 id="\(id)">\(reader(title))</h2>
    \(Form.list(rows))
    </section>
    """
  }

  private static func log(_ reader: Reader, _ view: HealthView) -> [(String, HTML)] {
    var rows: [(String, HTML)] = []
    if let log = view.log {
      rows.append((reader(.newestEvent), "\(log.upperBound)"))
      rows.append((reader(.firstKeptEvent), "\(min(log.lowerBound + 1, max(log.upperBound, 1)))"))
    }
    let verdict: HTML =
      switch view.health.isIntact {
      case nil: "\(reader(.notYet))"
      case true?: "<span class=\"good\">\(reader(.intact))</span>"
      case false?: "<strong class=\"bad\">\(reader(.broken))</strong>"
      }
    rows.append((reader(.state), verdict))
    rows.append((reader(.verifiedAt), time(reader, view.health.verifiedAt)))
    return rows
  }

  private static func time(_ reader: Reader, _ seconds: Int64?) -> HTML {
    seconds.map { reader.time($0) } ?? "\(reader(.notYet))"
  }

  private static func milliseconds(_ seconds: Double) -> String {
    let thousandths = Int64((seconds * 1_000).rounded())
    let sign = thousandths < 0 ? "−" : ""
    let fraction = String(thousandths.magnitude % 1_000)
    return "\(sign)\(thousandths.magnitude / 1_000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
  }

  private static func replicas(_ reader: Reader, _ health: ConsoleHealth) -> HTML {
    guard let replicas = health.replicas else { return .empty }
    let rows = replicas.map { replica in
      (
        replica.address,
        "\(reader(replica.connections == 1 ? .connection : .connections, "\(replica.connections)")), \(reader(.startedAt)) \(reader.time(replica.since))"
          as HTML
      )
    }
    return """
      <section class="card" aria-labelledby="replicas">
      <h2 id="replicas">\(reader(.replicas))</h2>
      \(Form.list(rows))
      </section>
      """
  }
}
