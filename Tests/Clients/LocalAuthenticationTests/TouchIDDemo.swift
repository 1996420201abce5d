// An app's login, as one writes it for an iPhone: enable Touch ID after a password login, log in by finger, notice
// changed fingers, fall back to a gesture, escalate after lockout. It depends on LocalAuthentication and on its own
// server, which is behind a protocol; nothing here depends on a simulation.

import Foundation
import LocalAuthentication

/// The app's server.
protocol LoginServer {
  func logIn(user: String, password: String) async throws
  func setGesture(_ dots: [Int]) async throws
  /// Returns the challenge that new keys have to sign before the server accepts them.
  func beginEnabling(_ phone: PhoneState) async throws -> Challenge
  /// - Returns: the phone's id from now on.
  func finishEnabling(_ challenge: Challenge, keys: [SignedKey], _ phone: PhoneState) async throws -> String
  func beginLogin(phoneID: String, reason: String, _ phone: PhoneState) async throws -> Challenge
  func answer(_ challenge: Challenge, with attempt: Attempt, _ phone: PhoneState) async throws -> Answer
}

/// The phone's state as LocalAuthentication reports it.
struct PhoneState: Sendable {
  var biometryType: LABiometryType
  /// Why the sensor cannot be used now.
  var biometryError: LAError.Code?
  var isPasscodeSet: Bool
  var domainState: Data?
}

struct Challenge: Sendable {
  var id: Data
  var bytesToSign: Data
  /// Best first.
  var factors: [LoginFactor] = []
}

struct SignedKey: Sendable {
  var factor: LoginFactor
  var publicKey: Data
  var signature: Data
}

enum LoginFactor: Sendable {
  case finger
  /// The iPhone's own passcode.
  case phonePasscode
  case gesture
}

enum Attempt: Sendable {
  case signature(Data, by: LoginFactor)
  case gesture([Int])
  /// LocalAuthentication did not succeed, and this is its code.
  case failure(LAError.Code)
}

enum Answer: Sendable {
  case welcome(String)
  /// The factors left to try in this login; empty: it is over.
  case again([LoginFactor], attemptsLeft: Int)
  case wait(seconds: Int, [LoginFactor])
}

/// Its screens, and what a tap on each leads to.
@MainActor
final class TouchIDDemo {
  enum Screen: Equatable {
    case password
    case home(String)
    /// With the button that starts `logIn()`.
    case welcomeBack(String)
    case gesture(attemptsLeft: Int?)
    /// Only the phone's own passcode helps, or the app's password.
    case locked
    case wait(seconds: Int)
  }

  private(set) var screen = Screen.password
  private let server: any LoginServer
  /// A login that a finger did not finish.
  private var open: Challenge?

  init(server: any LoginServer) {
    self.server = server
    if isEnabled { screen = .welcomeBack(buttonTitle) }
  }

  // MARK: Password, and what it allows

  func logIn(user: String, password: String) async throws {
    try await server.logIn(user: user, password: password)
    open = nil
    screen = .home(user)
  }

  func choose(gesture dots: [Int]) async throws {
    try await server.setGesture(dots)
  }

  /// Makes one key for the finger, which dies with a change of fingers, and one for the phone's passcode.
  func enableTouchID() async throws {
    let context = LAContext()
    context.localizedFallbackTitle = ""
    try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "Enable Touch ID")
    let challenge = try await server.beginEnabling(phoneState())
    Keychain.removeAll()
    let finger = try Keychain.makeKey(.finger, flags: .biometryCurrentSet)
    let owner = try Keychain.makeKey(.phonePasscode, flags: .devicePasscode)
    try await ask(context, for: .devicePasscode, reason: "Enable Touch ID")
    let keys = [
      try finger.signed(challenge.bytesToSign, as: .finger, with: context),
      try owner.signed(challenge.bytesToSign, as: .phonePasscode, with: context),
    ]
    let phoneID = try await server.finishEnabling(challenge, keys: keys, phoneState())
    Keychain.save(Data(phoneID.utf8), as: "phone")
    Keychain.save(phoneState().domainState ?? Data(), as: "fingers")
  }

  var isEnabled: Bool { Keychain.load("phone") != nil }

  // MARK: Logging in

  /// Another finger was added or one removed since Touch ID was enabled. A locked phone does not show it.
  var haveFingersChanged: Bool {
    guard let known = Keychain.load("fingers"), let now = phoneState().domainState else { return false }
    return known != now
  }

  func logIn() async throws {
    guard let phoneID = Keychain.load("phone") else { return screen = .password }
    let challenge = try await server.beginLogin(
      phoneID: String(decoding: phoneID, as: UTF8.self), reason: "Log in", phoneState())
    open = challenge
    guard challenge.factors.contains(.finger), !haveFingersChanged else { return offer(challenge.factors) }

    let context = LAContext()
    context.localizedFallbackTitle = challenge.factors.contains(.gesture) ? "Draw gesture" : ""
    do {
      try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "Log in")
      try await submit(try sign(challenge, by: .finger, with: context))
    } catch let error as LAError {
      switch error.code {
      case .userCancel, .systemCancel, .appCancel:
        screen = .welcomeBack(buttonTitle)
      case .biometryLockout, .userFallback, .authenticationFailed:
        try await submit(.failure(error.code))
      default:
        try await submit(.failure(error.code))
        screen = .password
      }
    }
  }

  func draw(_ dots: [Int]) async throws {
    try await submit(.gesture(dots))
  }

  /// Opens a locked sensor, on the phone and with the server.
  func enterPhonePasscode() async throws {
    guard let open else { return screen = .password }
    let context = LAContext()
    do {
      try await ask(context, for: .devicePasscode, reason: "Log in")
      try await submit(try sign(open, by: .phonePasscode, with: context))
    } catch LAError.userCancel, LAError.systemCancel, LAError.authenticationFailed {
      screen = .locked
    }
  }

  // MARK: Behind the screens

  private func submit(_ attempt: Attempt) async throws {
    guard let challenge = open else { return screen = .password }
    switch try await server.answer(challenge, with: attempt, phoneState()) {
    case .welcome(let user):
      open = nil
      screen = .home(user)
    case .wait(let seconds, let factors):
      if factors.isEmpty { screen = .wait(seconds: seconds) } else { offer(factors) }
    case .again(let factors, let attemptsLeft):
      if case .gesture = attempt, factors.contains(.gesture) {
        screen = .gesture(attemptsLeft: attemptsLeft)
      } else if case .failure(.authenticationFailed) = attempt {
        screen = .welcomeBack(buttonTitle)
      } else {
        offer(factors)
      }
    }
  }

  /// The next best thing to a finger.
  private func offer(_ factors: [LoginFactor]) {
    if factors.contains(.gesture) {
      screen = .gesture(attemptsLeft: nil)
    } else {
      screen = factors.contains(.phonePasscode) ? .locked : .password
    }
  }

  private func sign(_ challenge: Challenge, by factor: LoginFactor, with context: LAContext) throws -> Attempt {
    guard let key = Keychain.key(factor, context: context) else { return .failure(.biometryNotAvailable) }
    return .signature(try key.signature(of: challenge.bytesToSign), by: factor)
  }

  private func ask(_ context: LAContext, for flags: SecAccessControlCreateFlags, reason: String) async throws {
    try await context.evaluateAccessControl(
      try Keychain.accessControl(flags), operation: .useKeySign, localizedReason: reason)
  }

  private func phoneState() -> PhoneState {
    let context = LAContext()
    var error: NSError?
    context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error)
    let isPasscodeSet = context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
    return PhoneState(
      biometryType: context.biometryType, biometryError: error.flatMap { LAError.Code(rawValue: $0.code) },
      isPasscodeSet: isPasscodeSet, domainState: context.evaluatedPolicyDomainState)
  }

  private var buttonTitle: String {
    phoneState().biometryType == .faceID ? "Log in with Face ID" : "Log in with Touch ID"
  }
}
