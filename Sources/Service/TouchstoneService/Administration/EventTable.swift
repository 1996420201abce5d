// Events as comma-separated values (RFC 4180), for spreadsheets.

package import TouchstoneCodec

package enum EventTable {
  package static let heading = "sequence,time,kind,application,profile,device,binding,caller,reason,details"

  /// Details are for people: "factor=biometry; policy=login".
  package static func line(_ event: V1.Event) -> String {
    let details = event.details.filter { $0.key != "reason" }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    let cells = [
      "\(event.sequence)", event.time?.rfc3339() ?? "", event.kind, event.applicationID, event.profileID,
      event.deviceID, event.bindingID, event.caller, event.details["reason"] ?? "", details.joined(separator: "; "),
    ]
    return cells.map(cell).joined(separator: ",")
  }

  /// Strangers choose ids and reasons, and a spreadsheet computes a cell that begins like a formula. In many countries
  /// it also begins a cell after each semicolon.
  private static func cell(_ text: String) -> String {
    var inert = ""
    var isBeginning = true
    for scalar in text.unicodeScalars {
      if isBeginning, "=+-@\t\r＝＋－＠".unicodeScalars.contains(scalar) { inert += "'" }
      inert.unicodeScalars.append(scalar)
      isBeginning = ";,\t\r\n\"".unicodeScalars.contains(scalar) || isBeginning && scalar.properties.isWhitespace
    }
    guard inert.utf8.contains(where: { ",\"\n\r".utf8.contains($0) }) else { return inert }
    return "\"" + inert.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }
}
