// The console's URL in browsers, where a proxy gives it another one than its address. Pure.

package import DispatchHTTP
internal import Encodings

package struct ConsoleURL: Hashable, Sendable {
  /// Longer than any path that people type.
  package static let maximumBytes = 1_024

  package let scheme: HTTPAuthority.Scheme
  package let authority: HTTPAuthority
  /// The part of the path before "/console"; empty, or begins with "/".
  package let basePath: String

  /// Returns why the text is no such URL, in words that follow the setting's name.
  package static func violation(in text: String) -> String? {
    ConsoleURL(text) == nil
      ? "must be the console's URL in browsers, such as https://ops.example.org/touchstone/console: it ends with "
        + "\(ConsolePath.home), and http:// is for an address or localhost alone"
      : nil
  }

  package init?(_ text: String) {
    guard text.utf8.count <= Self.maximumBytes, let separator = text.firstRange(of: "://"),
      let scheme = HTTPAuthority.Scheme(rawValue: String(text[..<separator.lowerBound]))
    else {
      return nil
    }
    let rest = text[separator.upperBound...]
    let pathStart = rest.firstIndex(of: "/") ?? rest.endIndex
    guard let authority = HTTPAuthority(rest[..<pathStart]), !authority.host.isEmpty,
      scheme == .https || authority.isAddress, rest[pathStart...].hasSuffix(ConsolePath.home)
    else {
      return nil
    }
    let base = String(rest[pathStart...].dropLast(ConsolePath.home.count))
    guard Self.isPath(base) else { return nil }
    self.scheme = scheme
    self.authority = authority
    basePath = base
  }

  /// Segments of unreserved characters (RFC 3986 §2.3), which proxies and browsers leave as they are.
  private static func isPath(_ text: String) -> Bool {
    guard !text.isEmpty else { return true }
    let segments = text.split(separator: "/", omittingEmptySubsequences: false)
    guard segments.count > 1, segments[0].isEmpty else { return false }
    return segments.dropFirst().allSatisfy { segment in
      !segment.isEmpty && segment != "." && segment != ".."
        && segment.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-._~".utf8.contains($0) }
    }
  }
}
