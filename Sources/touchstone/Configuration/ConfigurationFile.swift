// The file behind `--config`. What is not said keeps its default; what is not known is an error.

internal import Glibc
internal import TouchstonePolicy
internal import TouchstoneService

/// Settings of one process. Flags come first, then the file, then these defaults.
struct ProcessConfiguration {
  /// HOST:PORT.
  var listen = "127.0.0.1:7443"
  var dataDirectory = "data"
  /// 0: one for each core.
  var shards = 0
  /// Only a flag can say so.
  var allowsPlaintextBeyondLoopback = false
  var service = ServiceConfiguration()
}

struct ConfigurationError: Error {
  var path: String
  /// `nil`: the file as a whole.
  var place: YAMLPlace?
  var message: String

  var description: String {
    let place = place.map { ":\($0.line):\($0.column)" } ?? ""
    return "\(path)\(place): \(message)"
  }
}

extension ProcessConfiguration {
  /// More is not a configuration.
  private static let maximumFileBytes = 1 << 20

  static func load(path: String) throws(ConfigurationError) -> ProcessConfiguration {
    guard let file = fopen(path, "r") else {
      throw ConfigurationError(path: path, message: "cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: maximumFileBytes + 1)
    let count = fread(&bytes, 1, bytes.count, file)
    guard ferror(file) == 0 else { throw ConfigurationError(path: path, message: "cannot be read") }
    guard count <= maximumFileBytes else { throw ConfigurationError(path: path, message: "is larger than 1 MiB") }
    return try parse(Array(bytes.prefix(count)), path: path)
  }

  static func parse(_ bytes: [UInt8], path: String) throws(ConfigurationError) -> ProcessConfiguration {
    do throws(YAMLError) {
      var configuration = ProcessConfiguration()
      try configuration.apply(try YAMLNode.parse(bytes))
      return configuration
    } catch {
      throw ConfigurationError(path: path, place: error.place, message: error.message)
    }
  }

  private mutating func apply(_ root: YAMLNode) throws(YAMLError) {
    guard case .mapping(let entries) = root.content else {
      throw YAMLError(message: "must be a mapping of settings", place: root.place)
    }
    for (key, value) in entries {
      switch key.name {
      case "listen": listen = try value.text()
      case "data_dir": dataDirectory = try value.text()
      case "shards": shards = try value.integer(in: 1...Self.maximumShards)
      case "issuer": service.issuer = try value.text(maximumBytes: ServiceConfiguration.maximumIssuerBytes)
      case "evaluation_lifetime_seconds":
        let lifetime = Duration.seconds(try value.integer(in: Self.lifetimeSeconds))
        for index in service.policies.indices { service.policies[index].evaluationLifetime = lifetime }
      case "token_lifetime_seconds":
        let lifetime = Duration.seconds(try value.integer(in: Self.lifetimeSeconds))
        for index in service.policies.indices { service.policies[index].tokenLifetime = lifetime }
      case "ticket_lifetime_seconds":
        service.enrolment.ticketLifetime = .seconds(try value.integer(in: Self.lifetimeSeconds))
      default:
        throw YAMLError(message: "\"\(key.name)\" is not a setting", place: key.place)
      }
    }
  }

  static let maximumShards = 256
  /// A second, for tests, to an hour: what is open longer is no longer one login.
  private static let lifetimeSeconds = 1...3_600
}

extension YAMLNode {
  fileprivate func text(maximumBytes: Int = .max) throws(YAMLError) -> String {
    guard case .scalar(let text) = content, !text.isEmpty else {
      throw YAMLError(message: "must be a text", place: place)
    }
    guard text.utf8.count <= maximumBytes else {
      throw YAMLError(message: "must be at most \(maximumBytes) bytes", place: place)
    }
    return text
  }

  fileprivate func integer(in range: ClosedRange<Int>) throws(YAMLError) -> Int {
    guard case .scalar(let text) = content, let number = Int(text), range.contains(number) else {
      throw YAMLError(message: "must be a number from \(range.lowerBound) to \(range.upperBound)", place: place)
    }
    return number
  }
}
