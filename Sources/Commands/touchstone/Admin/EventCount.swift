// How many events there are of each profile, caller, reason or kind.

internal import ArgumentParser
internal import Encodings
internal import TerminalText
internal import TouchstoneCodec

struct EventCount {
  enum Key: String, CaseIterable, ExpressibleByArgument {
    case profile, caller, reason, kind
  }

  private let key: Key
  private let namesApplications: Bool
  /// At most as many as `EventLog.limit`. By the names' bytes: to `String`, an "é" is the same composed and decomposed.
  private var counts: [[UInt8]: Int] = [:]

  init(by key: Key, namesApplications: Bool) {
    (self.key, self.namesApplications) = (key, namesApplications)
  }

  mutating func add(_ event: V1.Event) {
    counts[Array(name(event).utf8), default: 0] += 1
  }

  private func name(_ event: V1.Event) -> String {
    switch key {
    case .profile where event.profileID.isEmpty: ""
    case .profile: namesApplications ? "\(event.applicationID)/\(event.profileID)" : event.profileID
    case .caller: event.caller
    case .reason: event.details["reason"] ?? ""
    case .kind: event.kind
    }
  }

  /// The most first; an empty name, of events that have none, as "-".
  func print(_ session: AdminSession) {
    let rows = counts.map { (name: String(decoding: $0, as: UTF8.self), count: $1) }
      .sorted { ($1.count, $0.name) < ($0.count, $1.name) }
    guard session.isJSON else {
      let cells = rows.map { ["\($0.count)", $0.name.isEmpty ? "-" : shown($0.name)] }
      return session.print(TextTable(["EVENTS", key.rawValue.uppercased()], cells))
    }
    for row in rows {
      printLine(printable(json: "{\"\(key)\":\(JSONText.quoted(row.name)),\"events\":\(row.count)}"))
    }
  }
}
