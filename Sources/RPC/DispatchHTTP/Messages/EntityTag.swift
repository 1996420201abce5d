// Whether a client has the present representation already (RFC 9110 §13.1.2).

package enum EntityTag {
  /// Returns true if `If-None-Match` names the tag, or any tag. Tags compare weakly, and none of ours has a comma.
  ///
  /// - Parameter tag: with its quotation marks.
  package static func isKnown(_ tag: String, to head: HTTPRequestHead) -> Bool {
    head.fields.list("if-none-match").contains { $0 == "*" || $0 == tag || $0 == "W/\(tag)" }
  }
}
