// The shop's app on a simulated iPhone, told as a story: enable, log in, pay, a wrong finger, a new finger, enable again.
//
//   swift run shop-phone http://localhost:5000 ada@example.org "correct horse"
//
// Exits 0 only if each step ended as it must.

import Foundation
import LocalAuthentication
import SimulatedPhone
import TouchstoneKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

/// What the app sends to the shop. Its cookie is the person's session.
struct Shop: JSONBackend {
  let application = "shop"
  let url: URL
  private let session = URLSession(configuration: .ephemeral)

  init(url: URL) {
    self.url = url
  }

  func post(_ method: String, _ body: Data) async throws -> Data {
    let (data, status) = try await send("touchstone/\(method)", body, as: "application/json")
    guard status == 200 else { throw CallFailure(connect: data) ?? CallFailure(status: "UNAVAILABLE") }
    return data
  }

  /// The shop's own login.
  func logIn(email: String, password: String) async throws {
    let (_, status) = try await send("login", form(["email": email, "password": password]))
    guard status == 200 else { throw Unexpected(description: "the shop's login answered \(status)") }
  }

  func logOut() async throws { _ = try await send("logout", Data()) }

  /// Orders, and returns what is to be paid.
  func order(_ article: String) async throws -> Payment {
    let (data, status) = try await send("orders", form(["article": article]))
    guard status == 200 else { throw Unexpected(description: "the order answered \(status)") }
    struct Order: Decodable {
      let amount, currency, payee, reference: String
    }
    let order = try JSONDecoder().decode(Order.self, from: data)
    return Payment(amount: order.amount, currency: order.currency, payee: order.payee, reference: order.reference)
  }

  private func send(
    _ path: String, _ body: Data, as type: String = "application/x-www-form-urlencoded"
  ) async throws -> (Data, Int) {
    var request = URLRequest(url: url.appendingPathComponent(path))
    request.httpMethod = "POST"
    request.httpBody = body
    request.setValue(type, forHTTPHeaderField: "Content-Type")
    request.setValue("application/json", forHTTPHeaderField: "Accept")
    let (data, response) = try await session.data(for: request)
    return (data, (response as? HTTPURLResponse)?.statusCode ?? 0)
  }

  private func form(_ fields: [String: String]) -> Data {
    var components = URLComponents()
    components.queryItems = fields.map { URLQueryItem(name: $0.key, value: $0.value) }
    let encoded = components.percentEncodedQuery ?? ""
    return Data(encoded.replacingOccurrences(of: "+", with: "%2B").utf8)
  }
}

@main
struct ShopPhone {
  private static let ada = SimulatedPhone.Person.presenting(.finger("thumb"), passcode: "2580")

  static func main() async {
    do {
      try await play()
    } catch {
      print("failed: \(error)")
      exit(1)
    }
  }

  private static func play() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let url = URL(string: arguments[1]) else {
      throw Unexpected(description: "shop-phone URL E-MAIL PASSWORD")
    }
    let phone = SimulatedPhone(passcode: "2580", enrolled: ["thumb"], person: ada)
    var settings = TouchIDSettings()
    settings.device = Device(platform: "ios", osVersion: "17.4", model: "iPhone15,2")
    settings.deviceName = "Simulated iPhone"
    let shop = Shop(url: url)
    try await LASimulation(phone: phone).run {
      let touchID = TouchID(backend: shop, settings: settings)
      try await tell(shop, touchID, phone, email: arguments[2], password: arguments[3])
    }
  }

  private static func tell(
    _ shop: Shop, _ touchID: TouchID, _ phone: SimulatedPhone, email: String, password: String
  ) async throws {
    try await shop.logIn(email: email, password: password)
    try await expect("Ada enables Touch ID after her password", .done, touchID.enable())
    try await shop.logOut()
    try await expect("a finger logs in", .done, touchID.login())
    let coffee = try await shop.order("coffee")
    try await expect("a finger pays \(coffee.amount) \(coffee.currency) to \(coffee.payee)", .done, touchID.pay(coffee))

    phone.setPerson(.presenting(.finger("stranger's")))
    try await shop.logOut()
    try await expect("a stranger's finger does not log in", .tryAgain, touchID.login())

    phone.setPerson(ada)
    phone.enroll("index")
    try await expect("a finger was added, so the phone's passcode logs in", .done, touchID.login())
    try await shop.logOut()
    try await expect("the key for fingers is dead", .bindAgain, touchID.login())
    try await shop.logIn(email: email, password: password)
    try await expect("Ada enables Touch ID again after her password", .done, touchID.enable())
    try await shop.logOut()
    try await expect("a finger logs in", .done, touchID.login())
  }

  private static func expect(_ step: String, _ wanted: NextStep.Kind, _ result: TouchIDResult) throws {
    print("\(step): \(result.next.kind.name) \(result.next.message ?? "")")
    guard result.next.kind == wanted else { throw Unexpected(description: "\(wanted.name) was expected") }
  }
}
