// An app's login with the kit, as one writes it for an iPhone: its screens, and what a tap on each leads to. Nothing
// here depends on a simulation.

import Foundation
import TouchstoneKit

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
  private let touchID: TouchID

  init(backend: any TouchIDBackend, settings: TouchIDSettings) {
    touchID = TouchID(backend: backend, settings: settings)
  }

  func start() async throws {
    let status = try await touchID.status()
    screen = status.state == .notEnabled ? .password : .welcomeBack("Log in with \(status.biometryName ?? "passcode")")
  }

  func enableTouchID() async throws { try await show(touchID.enable()) }

  func logIn() async throws { try await show(touchID.login()) }

  func draw(_ dots: [Int]) async throws { try await show(touchID.prove(by: .gesture(dots))) }

  func enterPhonePasscode() async throws { try await show(touchID.prove(by: .deviceOwner)) }

  private func show(_ result: TouchIDResult) async throws {
    switch result.next.kind {
    case .done: screen = .home(result.profile ?? "")
    case .wait: screen = .wait(seconds: result.next.seconds ?? 1)
    case .tryAgain where result.next.factor == .gesture: screen = .gesture(attemptsLeft: result.attemptsLeft)
    case .stay, .tryAgain, .beginAgain: try await start()
    case .useFactor, .prompt, .bindAgain:
      if result.factors.contains(.gesture) {
        screen = .gesture(attemptsLeft: nil)
      } else {
        screen = result.factors.contains(.deviceOwner) ? .locked : .password
      }
    default: screen = .password
    }
  }
}
