// health.proto: whether a server serves.

/// Namespace of the grpc.health.v1 messages.
public enum GRPCHealth {
  public struct ServingStatus: OpenEnum {
    public let rawValue: Int32

    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    public static let serving = Self(rawValue: 1)
    public static let notServing = Self(rawValue: 2)
    /// In Watch alone.
    public static let serviceUnknown = Self(rawValue: 3)
  }

  /// `Health.Check` and `Health.Watch`.
  public struct CheckRequest: WireMessage {
    /// By its full name; empty: the server as a whole.
    public var service: String

    public init(service: String = "") {
      self.service = service
    }
  }

  /// Answers ``CheckRequest``.
  public struct CheckResponse: WireMessage {
    public var status: ServingStatus

    public init(status: ServingStatus = .unspecified) {
      self.status = status
    }
  }

  /// `Health.List`.
  public struct ListRequest: WireMessage {
    public init() {}
  }

  /// Answers ``ListRequest``.
  public struct ListResponse: WireMessage {
    /// An entry of a map from names to statuses.
    public struct Entry: WireMessage {
      public var key: String
      public var value: CheckResponse?

      public init(key: String = "", value: CheckResponse? = nil) {
        self.key = key
        self.value = value
      }
    }

    /// Each service once. As a list, since to a dictionary's keys two spellings of "é" are one.
    public var statuses: [Entry]

    public init(statuses: [Entry] = []) {
      self.statuses = statuses
    }
  }
}
