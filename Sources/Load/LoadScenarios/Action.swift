// The actions of a simulated person, as moves that the service must answer in a certain way.

/// Actions by their names in scenarios.
package enum Action: String, CaseIterable, Sendable {
  /// Binds a new phone of a new profile.
  case bind
  case login
  /// A payment's approval, and ConsumeToken.
  case payment
  case passcode
  case gesture
  /// A wrong signature, then the right one (R10).
  case wrongFinger = "wrong_finger"
  /// Another domain state suspends the finger until the passcode was typed (R25, R26).
  case changedFinger = "changed_finger"
  /// Wrong fingers until the phone is locked, then the passcode (R7, R12).
  case lockout
  /// IntrospectToken for a token of an earlier login.
  case introspect
  /// CanEvaluatePolicy.
  case preflight

  /// The phones that serve it.
  package var share: PhoneShare {
    switch self {
    case .bind, .login, .payment, .introspect, .preflight: .common
    case .passcode, .gesture: .secrets
    case .wrongFinger, .changedFinger, .lockout: .exclusive
    }
  }

  var moves: [Move.Kind] {
    switch self {
    case .bind: [.bind]
    case .login: [.attempt(.finger, .succeeded)]
    case .payment: [.approve, .consume]
    case .passcode: [.attempt(.passcode, .succeeded)]
    case .gesture: [.attempt(.gesture, .succeeded)]
    case .wrongFinger: [.attempt(.wrongFinger, .tryAgain), .attempt(.finger, .succeeded)]
    case .changedFinger:
      [
        .changeFinger, .attempt(.finger, .factorRequired), .attempt(.passcode, .succeeded),
        .attempt(.finger, .succeeded),
      ]
    case .lockout:
      [.lockOut, .attempt(.finger, .lockedOut), .attempt(.passcode, .succeeded), .attempt(.finger, .succeeded)]
    case .introspect: [.findToken, .introspect]
    case .preflight: [.preflight]
    }
  }
}

/// Which phones a flow uses. A flow of several actions uses those of the most demanding one.
package enum PhoneShare: String, CaseIterable, Codable, Comparable, Sendable {
  /// For flows that leave a phone as it was: any number of calls use one at a time.
  case common
  /// Like `common`; their owners have a passcode and a gesture.
  case secrets
  /// For flows that fail, lock or change a phone: one call uses it at a time. Their owners have a passcode.
  case exclusive

  package static func < (left: PhoneShare, right: PhoneShare) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .common: 0
    case .secrets: 1
    case .exclusive: 2
    }
  }
}

/// One step of a flow.
struct Move: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case bind
    case preflight
    /// An attempt in the open evaluation of a login, or else in a new one.
    case attempt(PhoneRequest.Proof, AttemptOutcome)
    /// A payment.
    case approve
    case consume
    /// Wrong fingers until the service answers LOCKED_OUT.
    case lockOut
    case changeFinger
    /// A login, unless there is a token.
    case findToken
    case introspect
  }

  var action: Action
  var kind: Kind
}
