// The messages between the app and its own backend. The names are those of the service's JSON (proto3), so a backend
// passes each object on: it adds `applicationId` and its own knowledge, and removes nothing. JSON leaves out empty
// fields, so most fields of answers are optional.

/// The name of a value of an enumeration. A later version's value, also as a number, is a word that means nothing here.
public struct Word: Codable, Hashable, Sendable, ExpressibleByStringLiteral {
  public let name: String

  public init(_ name: String) {
    self.name = name
  }

  public init(stringLiteral name: String) {
    self.name = name
  }

  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    name = try (try? value.decode(String.self)) ?? String(value.decode(Int.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var value = encoder.singleValueContainer()
    try value.encode(name)
  }
}

/// A way to prove presence.
public typealias Factor = Word

extension Factor {
  public static let biometry: Factor = "FACTOR_BIOMETRY"
  public static let deviceOwner: Factor = "FACTOR_DEVICE_OWNER"
  public static let passcode: Factor = "FACTOR_PASSCODE"
  public static let gesture: Factor = "FACTOR_GESTURE"
  public static let passkey: Factor = "FACTOR_PASSKEY"
  /// The app's own login.
  public static let primary: Factor = "FACTOR_PRIMARY"
}

/// The protection of a key: the person's act that unlocks it. The numbers are the API's.
public enum Protection: Int, Codable, Sendable {
  case biometryCurrentSet = 1
  case biometryAny = 2
  case userPresence = 3
  case devicePasscode = 4
}

public struct Message: Codable, Hashable, Sendable {
  public var locale, text: String?
}

/// Why this phone is refused now; `reason` is one that the API's `Denial` lists.
public struct Denial: Codable, Hashable, Sendable {
  public var reason: String?
  public var message: Message?
  public var retryAfter: String?

  public init(reason: String?) {
    self.reason = reason
  }
}

public struct NewKey: Codable, Hashable, Sendable {
  public var publicKey: Data
  public var protection: Protection
  /// Over the ticket's signing input.
  public var signature: Data
  public var mlDsa65PublicKey, mlDsa65Signature: Data?

  public init(publicKey: Data, protection: Protection, signature: Data) {
    (self.publicKey, self.protection, self.signature) = (publicKey, protection, signature)
  }
}

public struct BoundPhone: Codable, Hashable, Sendable {
  public struct Binding: Codable, Hashable, Sendable {
    public var bindingId: String?
  }

  public var binding: Binding?
  public var advisories: [String]?

  public init(bindingId: String?, advisories: [String] = []) {
    (binding, self.advisories) = (Binding(bindingId: bindingId), advisories)
  }
}

/// The texts of the prompt. The system hides the fallback button until the first failure, as `fallbackVisible` asks.
public struct Presentation: Codable, Hashable, Sendable {
  public var fallbackTitle, cancelTitle, localizedReason: String?

  public init() {}
}

public struct Evaluation: Codable, Hashable, Sendable {
  public var evaluation, signingInput: Data?
  public var expiresAt: String?
  public var factors: [Factor]?
  public var presentation: Presentation?
  public var domainState: Word?
  public var denial: Denial?
  public var advisories: [String]?

  public init() {}
}

/// The service's answer to an attempt. The backend may put a session of its own into `token`.
public struct Answer: Codable, Hashable, Sendable {
  public var outcome, laError, domainState: Word?
  public var profileId, token, retryAfter: String?
  public var nextFactors: [Factor]?
  public var attemptsLeft: Int?
  public var message: Message?
  public var denial: Denial?

  public init() {}
}

/// A call that failed. The backend's code in the app throws it with the gRPC status ("UNAVAILABLE") and the reason of
/// `google.rpc.ErrorInfo` that its server passed on.
public struct CallFailure: Error, Hashable, Sendable {
  public var status, reason: String
  public var retryAfter: String?

  public init(status: String, reason: String = "", retryAfter: String? = nil) {
    (self.status, self.reason, self.retryAfter) = (status, reason, retryAfter)
  }

  /// Reads the service's error in Connect's JSON, which the backend passed on; `nil`: it is none.
  public init?(connect body: Data) {
    struct Body: Decodable {
      struct Detail: Decodable {
        struct Content: Decodable {
          var reason, retryDelay: String?
        }

        var debug: Content?
      }

      var code: String
      var details: [Detail]?
    }
    guard let error = try? JSONDecoder().decode(Body.self, from: body) else { return nil }
    let details = (error.details ?? []).compactMap(\.debug)
    status = error.code == "canceled" ? "CANCELLED" : error.code.uppercased()
    reason = details.compactMap(\.reason).first ?? ""
    retryAfter = details.compactMap(\.retryDelay).first
  }
}
