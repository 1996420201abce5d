// A shop's login screen in SwiftUI. A cookie is the session with the backend, which passes JSON on to Touchstone.

import Foundation
import TouchstoneKit
#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(SwiftUI)
  import SwiftUI
#else
  import SwiftUIStubs
#endif

struct ShopBackend: JSONBackend {
  let application = "shop"

  func post(_ method: String, _ body: Data) async throws -> Data {
    var request = URLRequest(url: URL(string: "https://shop.example.org/touch-id/\(method)")!)
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    let (data, response) = try await URLSession.shared.upload(for: request, from: body)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else {
      throw CallFailure(connect: data) ?? CallFailure(status: "UNAVAILABLE")
    }
    return data
  }
}

struct LoginScreen: View {
  /// Called with the session that the backend put into the answer.
  let didLogIn: (String) -> Void
  @State private var biometryName: String?
  @State private var passcode = ""
  @State private var asksForPasscode = false
  @State private var note = ""
  private let touchID = TouchID(backend: ShopBackend())

  var body: some View {
    VStack {
      if let biometryName {
        Button("Log in with \(biometryName)") { run { try await touchID.login() } }
      }
      if asksForPasscode {
        SecureField("Passcode", text: $passcode)
        Button("Continue") { run { try await touchID.prove(by: .passcode(passcode)) } }
      }
      Text(note)
    }
    .task {
      let status = try? await touchID.status()
      biometryName = status?.state == .ready ? status?.biometryName : nil
    }
  }

  @MainActor private func run(_ login: @escaping @MainActor () async throws -> TouchIDResult) {
    Task { @MainActor in
      do {
        try await show(login())
      } catch let refusal as Refusal {
        note = "This login is not ours. Please tell us: \(refusal.code)"
      } catch {
        note = "No connection. Please try again."
      }
    }
  }

  @MainActor private func show(_ result: TouchIDResult) async throws {
    note = result.next.message ?? ""
    asksForPasscode = result.next.factor == .passcode
    switch result.next.kind {
    case .done: didLogIn(result.token ?? "")
    case .useFactor where result.next.factor == .deviceOwner, .bindAgain where result.next.factor == .deviceOwner:
      try await show(touchID.prove(by: .deviceOwner))
    case .wait: note = "Please wait \(result.next.seconds ?? 1) seconds."
    case .bindAgain: note = "Please log in with your password, and enable \(biometryName ?? "Touch ID") again."
    case .prompt, .useFactor, .tryAgain, .beginAgain, .stay: break
    default: note = "Please log in with your password."
    }
  }
}
