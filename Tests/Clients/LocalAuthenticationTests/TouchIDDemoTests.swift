// The demo app on simulated phones, against Touchstone.

import Foundation
import LocalAuthentication
import SimulatedPhone
import Testing

@Suite("A Touch ID demo against the service") @MainActor
struct TouchIDDemoTests {
  private static let ada = SimulatedPhone.Person.presenting(.finger("thumb"), passcode: "2580")
  private static let gesture = [0, 1, 2, 5, 8]

  /// Ada has logged in with her password, drawn a gesture and enabled Touch ID; the app is then started anew.
  private func tell(
    _ phone: SimulatedPhone = .withThumb(person: ada),
    _ story: @MainActor (TouchIDDemo, SimulatedPhone, DemoServer) async throws -> Void
  ) async throws {
    try await withDemoServer(for: phone) { server in
      try await LASimulation(phone: phone).run {
        let first = TouchIDDemo(server: server)
        #expect(first.screen == .password)
        try await first.logIn(user: DemoServer.user, password: DemoServer.password)
        try await first.choose(gesture: Self.gesture)
        try await first.enableTouchID()
        let app = TouchIDDemo(server: server)
        #expect(app.screen == .welcomeBack("Log in with Touch ID"))
        try await story(app, phone, server)
      }
    }
  }

  @Test("A finger logs in, as often as one likes")
  func logIn() async throws {
    try await tell { app, _, server in
      for _ in 0..<3 {
        try await app.logIn()
        #expect(app.screen == .home("ada"))
      }
      #expect(try await server.events().filter { $0 == "evaluation.succeeded" }.count == 3)
    }
  }

  @Test("The fallback button leads to the gesture, in the same login")
  func fallback() async throws {
    try await tell { app, phone, _ in
      phone.setPerson(.init(script: [.present(.finger("wet thumb")), .tapFallback]))
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))
      try await app.draw([0, 3, 6, 7])
      #expect(app.screen == .gesture(attemptsLeft: 4))
      try await app.draw(Self.gesture)
      #expect(app.screen == .home("ada"))
    }
  }

  @Test("Three wrong fingers end a login, two more lock the phone, its passcode opens it")
  func lockout() async throws {
    try await tell { app, phone, server in
      phone.setPerson(.presenting(.finger("stranger's")))
      try await app.logIn()
      #expect(app.screen == .welcomeBack("Log in with Touch ID"))
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))
      #expect(try await server.events().contains("evaluation.locked_out"))

      // Locked: the finger is not even asked for, here or in another app.
      phone.setPerson(Self.ada)
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))
      try await app.draw(Self.gesture)
      #expect(app.screen == .home("ada"))
      // A gesture says nothing of the phone's owner.
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))

      try await app.enterPhonePasscode()
      #expect(app.screen == .home("ada"))
      try await app.logIn()
      #expect(app.screen == .home("ada"))
    }
  }

  @Test("A new finger is noticed by the app, by the phone's keys and by the service; enabling anew makes it known")
  func newFinger() async throws {
    try await tell { app, phone, _ in
      phone.enroll("stranger's")
      phone.setPerson(.presenting(.finger("stranger's"), passcode: "2580"))
      #expect(app.haveFingersChanged)
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))
      try await app.draw(Self.gesture)
      #expect(app.screen == .home("ada"))

      // The key died with the old set: the service's word that the set is known again does not bring it back.
      phone.setPerson(Self.ada)
      try await app.logIn()
      #expect(app.screen == .gesture(attemptsLeft: nil))

      try await app.logIn(user: DemoServer.user, password: DemoServer.password)
      try await app.enableTouchID()
      #expect(!app.haveFingersChanged)
      try await app.logIn()
      #expect(app.screen == .home("ada"))
    }
  }

  @Test("It imports what an iPhone has, and no more", arguments: ["TouchIDDemo.swift", "TouchIDDemoKeychain.swift"])
  func imports(file: String) throws {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: file)
    let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
    let imports = lines.filter { $0.contains("import ") && !$0.hasPrefix("//") }.map(String.init)
    #expect(imports == ["import Foundation", "import LocalAuthentication"])
  }
}
