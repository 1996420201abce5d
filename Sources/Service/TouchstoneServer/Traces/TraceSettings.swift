// `traces:` of the configuration: the collector of spans, and how many calls are traced.

internal import DispatchRPC
internal import SettingFiles

package struct TraceSettings: Hashable, Sendable {
  /// The address of an OpenTelemetry collector that takes OTLP over gRPC.
  let endpoint: String
  /// The share of the calls that begin a trace.
  private(set) var sample = 0.01
  /// PEM: who may vouch for the collector. `nil`: plaintext.
  private(set) var authorities: String?

  enum Key: String, CaseIterable {
    case endpoint
    case sample
    case authorities
  }

  static let authoritiesSetting = "traces.authorities"

  /// Returns `nil` if there is an error in it.
  init?(_ node: YAMLNode, with reader: inout SettingReader) {
    var endpoint: String?
    guard let entries = reader.mapping(node, "traces", of: Key.names) else { return nil }
    var isWrong = false
    for entry in entries {
      let name = "traces.\(entry.key.name)"
      switch Key(rawValue: entry.key.name) {
      case .endpoint:
        endpoint = reader.collector(entry.value, name)
        isWrong = isWrong || endpoint == nil
      case .sample: if let read = reader.share(entry.value, name) { sample = read }
      case .authorities: authorities = reader.path(entry.value, name)
      case nil: break
      }
    }
    guard let endpoint else {
      if !isWrong { reader.refuse(node.place, "traces needs endpoint, the collector's HOST:PORT") }
      return nil
    }
    self.endpoint = endpoint
  }
}

extension SettingReader {
  fileprivate mutating func collector(_ node: YAMLNode, _ name: String) -> String? {
    guard let text = endpoint(node, name) else { return nil }
    if text.hasSuffix(":0") {
      refuse(node.place, "\(name) must name the collector's port; OTLP over gRPC usually has 4317")
      return nil
    }
    return text
  }

  fileprivate mutating func share(_ node: YAMLNode, _ name: String) -> Double? {
    guard case .scalar(let text) = node.content, let number = Double(text), (0...1).contains(number) else {
      refuse(node.place, "\(name) must be a number from 0 to 1")
      return nil
    }
    return number
  }
}

extension ProcessConfiguration {
  /// Returns `nil` without them. A collector that is down is no failure: it may come later.
  func loadTraceAuthorities() throws(Failure) -> RPCClientTLS? {
    guard let file = traces?.authorities else { return nil }
    do throws(FileError) {
      try requireProtection(ofFile: file)
    } catch {
      throw failure(of: TraceSettings.authoritiesSetting, at: file, error.message)
    }
    do throws(RPCTLSError) {
      return try RPCClientTLS(authorities: .file(file))
    } catch {
      throw failure(of: TraceSettings.authoritiesSetting, at: file, error.reason)
    }
  }
}
