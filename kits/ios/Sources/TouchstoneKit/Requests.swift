// The requests to the backend, and the ticket that it returns. TouchstoneKitCore has the other answers.

import Foundation

public struct Title: Codable, Hashable, Sendable {
  public var text: String
}

/// BeginBinding. The backend adds the profile, and how the person logged in.
public struct BindingRequest: Codable, Hashable, Sendable {
  public var deviceId: String
  public var posture: Posture
}

public struct BindingTicket: Codable, Hashable, Sendable {
  public var ticket, challenge, signingInput: Data?
  public var denial: Denial?

  public init() {}
}

public struct AppAttestation: Codable, Hashable, Sendable {
  public var keyId: Data
  public var attestation, assertion: Data?
}

/// CompleteBinding.
public struct NewBinding: Codable, Hashable, Sendable {
  public var ticket: Data
  public var deviceName: String
  public var keys: [NewKey]
  public var posture: Posture
  public var replaceExisting: Bool
  public var appAttest: AppAttestation?
}

/// BeginEvaluation. The backend says which policies and payments it permits.
public struct EvaluationRequest: Codable, Hashable, Sendable {
  public var policy, bindingId, localizedReason: String
  public var fallbackTitle, cancelTitle: Title?
  public var transaction: Payment?
  public var posture: Posture
}

/// SubmitAttempt, with one of key, passcode, gesture and report.
public struct Attempt: Codable, Hashable, Sendable {
  public struct KeyProof: Codable, Hashable, Sendable {
    public var signature: Data
    public var factor: Factor
    public var mlDsa65Signature: Data?

    public init(signature: Data, factor: Factor) {
      (self.signature, self.factor) = (signature, factor)
    }
  }

  public struct Passcode: Codable, Hashable, Sendable {
    public var passcode: String
  }

  public struct Gesture: Codable, Hashable, Sendable {
    public var points: [Int]
  }

  public struct Report: Codable, Hashable, Sendable {
    public var laError: Int
  }

  public var evaluation: Data
  public var key: KeyProof?
  public var passcode: Passcode?
  public var gesture: Gesture?
  public var report: Report?
  public var posture: Posture
  public var appAssertion: Data?
}
