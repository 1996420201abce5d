// `traces:` of the configuration: the collector of spans, and how many calls are traced.

internal import DispatchRPC
internal import SettingFiles

package struct TraceSettings: Hashable, Sendable {
  /// The address of an OpenTelemetry collector that takes OTLP over gRPC.
  private(set) var endpoint = ""
  /// The share of the calls that begin a trace.
  private(set) var sample = 0.01
  /// PEM: who may vouch for the collector. `nil`: plaintext.
  private(set) var authorities: String?

  static let authoritiesSetting = "traces.authorities"
}

extension TraceSettings: ConfigurationSection {
  static var keys: [ConfigurationKey<TraceSettings>] {
    ConfigurationKey(
      "endpoint", .collector, to: \.endpoint, isRequired: true, need: "endpoint, the collector's HOST:PORT",
      "An OpenTelemetry collector that takes OTLP over gRPC.")
    ConfigurationKey("sample", .share, to: \.sample, "The share of the calls that begin a trace.")
    ConfigurationKey(
      "authorities", .path, to: \.authorities, default: .words("plaintext"),
      "PEM: the authorities of the collector's certificate.")
  }
}

extension ValueForm where Value == String {
  /// An address with a port.
  fileprivate static var collector: ValueForm {
    ValueForm(.endpoint) { entry, name, reader in
      guard let text = reader.endpoint(entry.value, name) else { return nil }
      if text.hasSuffix(":0") {
        reader.refuse(
          entry.value.place, "\(name) must name the collector's port; OTLP over gRPC usually has 4317")
        return nil
      }
      return text
    }
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
