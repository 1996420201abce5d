// Phones and apps that the tests share.

import Crypto
import Foundation
import LocalAuthentication
import SimulatedPhone
import TestSupport
import TouchstoneKit

/// The app on one phone, with the server that it calls.
struct World: Sendable {
  let phone: SimulatedPhone
  let server: DemoServer
  let settings: TouchIDSettings
  var touchID: TouchID { TouchID(backend: server, settings: settings) }

  static let ada = SimulatedPhone.Person.presenting(.finger("thumb"), passcode: "2580")
  static let gesture = [0, 1, 2, 5, 8]

  /// Ada has logged in with her password, drawn a gesture and enabled Touch ID.
  /// - Parameter authority: the service then demands the app's word, which it vouches for.
  static func run(
    trusting authority: AppAttestAuthority? = nil, isolation: isolated (any Actor)? = #isolation,
    settings change: (inout TouchIDSettings) -> Void = { _ in }, _ body: (World) async throws -> Void
  ) async throws {
    let phone = SimulatedPhone(passcode: "2580", enrolled: ["thumb"], person: ada)
    let directory = TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    var settings = TouchIDSettings()
    let report = phone.report(for: "com.example.app")
    settings.device = Device(platform: report.platform, osVersion: report.osVersion, model: report.deviceModel)
    settings.fallbackTitle = "Draw gesture"
    settings.installationFile = URL(fileURLWithPath: directory.path("library/installation"))
    change(&settings)
    try await withDemoServer(trusting: authority) { server in
      try await LASimulation(phone: phone).run {
        let world = World(phone: phone, server: server, settings: settings)
        try server.logIn(user: DemoServer.user, password: DemoServer.password)
        try await server.setGesture(gesture)
        try await world.enable()
        try await body(world)
      }
    }
  }

  func enable() async throws {
    let result = try await touchID.enable()
    guard result.means == .success, result.next.kind == .done else { throw NotEnabled(result: result) }
  }

  struct NotEnabled: Error {
    let result: TouchIDResult
  }

  /// The keychain's items of one class, by the simulated phone.
  func items(_ itemClass: String) -> Int {
    phone.items(itemClass, matching: [:], application: "com.example.app").count
  }
}

/// App Attest of a genuine app.
struct SimulatedVoucher: AppVoucher {
  let service: SimulatedAppAttest

  init(_ authority: AppAttestAuthority) {
    service = SimulatedAppAttest(appID: DemoServer.appID, authority: authority)
  }

  func generateKey() async throws -> String { Data(service.generateKey()).base64EncodedString() }

  func attest(_ keyID: String, clientData: Data) async throws -> Data {
    try answer(service.attestKey(Array(Data(base64Encoded: keyID) ?? Data()), clientDataHash: hash(clientData)))
  }

  func assert(_ keyID: String, clientData: Data) async throws -> Data {
    try answer(service.generateAssertion(Array(Data(base64Encoded: keyID) ?? Data()), clientDataHash: hash(clientData)))
  }

  private func hash(_ data: Data) -> [UInt8] { Array(SHA256.hash(data: data)) }

  private func answer(_ bytes: [UInt8]?) throws -> Data {
    guard let bytes else { throw LAError(.invalidContext) }
    return Data(bytes)
  }
}
