// The app's own backend, which the phone talks to. It calls Touchstone, and no phone does.

import Foundation
@_exported import TouchstoneKitCore

/// Conform to ``JSONBackend`` instead, if your backend takes and returns the service's JSON. Later versions of the kit
/// add methods with default implementations, so they break no app.
public protocol TouchIDBackend: Sendable {
  /// The `application_id` of this app. The kit signs for no other one.
  var application: String { get }

  /// The account that is logged in, by the service's `profile_id`; `nil`: none, or the app does not know it.
  func profile() async -> String?

  /// The backend has just logged the person in by itself, and says so in `primary`.
  func beginBinding(_ request: BindingRequest) async throws -> BindingTicket
  func completeBinding(_ binding: NewBinding) async throws -> BoundPhone
  func beginEvaluation(_ request: EvaluationRequest) async throws -> Evaluation
  func submitAttempt(_ attempt: Attempt) async throws -> Answer

  /// RevokeBinding, when the person disables Touch ID.
  func revokeBinding(_ bindingId: String) async throws
  /// InvalidateEvaluation, when the kit refused to sign.
  func invalidateEvaluation(_ evaluation: Data) async throws
}

extension TouchIDBackend {
  public func profile() async -> String? { nil }
  public func revokeBinding(_ bindingId: String) async throws {}
  public func invalidateEvaluation(_ evaluation: Data) async throws {}
}

/// A backend that passes the service's JSON on.
public protocol JSONBackend: TouchIDBackend {
  /// Posts `body` for a method such as "BeginBinding", and returns the answer's body.
  /// - Throws: ``CallFailure``, if the service refused the call; any other error is thrown on to the app.
  func post(_ method: String, _ body: Data) async throws -> Data
}

extension JSONBackend {
  public func beginBinding(_ request: BindingRequest) async throws -> BindingTicket {
    try await call("BeginBinding", request)
  }

  public func completeBinding(_ binding: NewBinding) async throws -> BoundPhone {
    try await call("CompleteBinding", binding)
  }

  public func beginEvaluation(_ request: EvaluationRequest) async throws -> Evaluation {
    try await call("BeginEvaluation", request)
  }

  public func submitAttempt(_ attempt: Attempt) async throws -> Answer {
    try await call("SubmitAttempt", attempt)
  }

  public func revokeBinding(_ bindingId: String) async throws {
    _ = try await post("RevokeBinding", JSONEncoder().encode(["bindingId": bindingId]))
  }

  public func invalidateEvaluation(_ evaluation: Data) async throws {
    _ = try await post("InvalidateEvaluation", JSONEncoder().encode(["evaluation": evaluation]))
  }

  private func call<Response: Decodable>(_ method: String, _ request: some Encodable) async throws -> Response {
    try JSONDecoder().decode(Response.self, from: await post(method, JSONEncoder().encode(request)))
  }
}
