// The demo app on simulated phones, against Touchstone.

import Foundation
import SimulatedPhone
import Testing
import TouchstoneKit

@Suite("A Touch ID demo against the service") @MainActor
struct TouchIDDemoTests {
  /// The app is started anew after Ada enabled Touch ID.
  private func tell(_ story: @MainActor (TouchIDDemo, World) async throws -> Void) async throws {
    try await World.run { world in
      let app = TouchIDDemo(backend: world.server, settings: world.settings)
      try await app.start()
      #expect(app.screen == .welcomeBack("Log in with Touch ID"))
      try await story(app, world)
    }
  }

  @Test("A finger logs in, as often as one likes")
  func logIn() async throws {
    try await tell { app, world in
      for _ in 0..<3 {
        try await app.logIn()
        #expect(app.screen == .home("ada"))
      }
      #expect(try await world.server.events().filter { $0 == "evaluation.succeeded" }.count == 3)
    }
  }

  @Test("The fallback button leads to the gesture, in the same login")
  func fallback() async throws {
    try await tell { app, world in
      world.phone.setPerson(.init(script: [.present(.finger("wet thumb")), .tapFallback]))
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))
      try await app.draw([0, 3, 6, 7])
      #expect(app.screen == .gesture(attemptsLeft: 4))
      try await app.draw(World.gesture)
      #expect(app.screen == .home("ada"))
    }
  }

  @Test("Three wrong fingers end a login, two more lock the phone, its passcode opens it")
  func lockout() async throws {
    try await tell { app, world in
      world.phone.setPerson(.presenting(.finger("stranger's")))
      try await app.logIn()
      #expect(app.screen == .welcomeBack("Log in with Touch ID"))
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))
      #expect(try await world.server.events().contains("evaluation.locked_out"))
      try await app.draw(World.gesture)
      #expect(app.screen == .home("ada"))

      // A gesture says nothing of the phone's owner: the finger is not even asked for, but the passcode.
      try await app.logIn()
      #expect(app.screen == .welcomeBack("Log in with Touch ID"))
      world.phone.setPerson(World.ada)
      try await app.enterPhonePasscode()
      #expect(app.screen == .home("ada"))
      world.phone.setPerson(.presenting(.finger("thumb")))
      try await app.logIn()
      #expect(app.screen == .home("ada"))
    }
  }

  @Test("A new finger is noticed by the app, by the phone's keys and by the service; enabling anew makes it known")
  func newFinger() async throws {
    try await tell { app, world in
      world.phone.enroll("stranger's")
      world.phone.setPerson(.presenting(.finger("stranger's")))
      #expect(try await world.touchID.status().haveFingersChanged)
      try await app.logIn()
      // The passcode's sheet was closed again.
      #expect(app.screen == .welcomeBack("Log in with Touch ID"))
      try await app.draw(World.gesture)
      #expect(app.screen == .home("ada"))

      // The key died with the old set: the service's word that the set is known again does not bring it back.
      world.phone.setPerson(World.ada)
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))
      #expect(try await world.touchID.status().state == .bindAgain)

      try await app.enableTouchID()
      try await app.logIn()
      #expect(app.screen == .home("ada"))
    }
  }

  @Test("It imports the kit, and no phone")
  func imports() throws {
    let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("TouchIDDemo.swift")
    let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
    #expect(lines.filter { $0.hasPrefix("import ") } == ["import Foundation", "import TouchstoneKit"])
  }
}
