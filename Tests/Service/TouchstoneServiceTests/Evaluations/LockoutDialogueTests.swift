import FoundationEssentials
import Testing
import TouchstoneCodec
import TouchstonePolicy

@testable import TouchstoneService

/// A story through the wire, in a text for readers: every answer of it, word for word.
struct LockoutDialogueTests {
  // R3, R4, R7, R9, R12, R13, R18, R20
  @Test func theLockoutStory() async throws {
    let dialogue = try await Dialogue.start()
    dialogue.title("1  Three wrong fingers end the evaluation, and the device has two attempts left.")
    try await dialogue.begin()
    for _ in 1...3 { try await dialogue.touch(wrongFinger: true) }

    dialogue.title("2  Two more lock the biometrics. The same evaluation goes on with the passcode.")
    try await dialogue.begin()
    for _ in 1...2 { try await dialogue.touch(wrongFinger: true) }
    try await dialogue.canEvaluate("deviceOwnerAuthenticationWithBiometrics")

    dialogue.title("3  Five wrong passcodes lock the passcode for a minute.")
    for _ in 1...5 { try await dialogue.type("0000") }

    dialogue.title("4  While it is locked, the right one is refused, too.")
    dialogue.wait(seconds: 59)
    try await dialogue.type("2468")

    dialogue.title("5  After the minute, another wrong one locks it for five.")
    dialogue.wait(seconds: 1)
    try await dialogue.type("0000")

    dialogue.title("6  After the five minutes, the right one unlocks passcode and biometrics.")
    dialogue.wait(seconds: 300)
    try await dialogue.canEvaluate("deviceOwnerAuthenticationWithBiometrics")
    try await dialogue.begin()
    try await dialogue.type("2468")

    dialogue.title("7  Everything is as on the first day.")
    try await dialogue.canEvaluate("deviceOwnerAuthenticationWithBiometrics")
    try await dialogue.begin()
    try await dialogue.touch(wrongFinger: false)

    try dialogue.compare(with: "lockout.txt")
  }
}

/// Writes down the phone's requests and the service's answers.
private final class Dialogue {
  private let service: TestService
  private let phone: TestPhone
  private var opened = V1.BeginEvaluationResponse()
  private var lines: [String] = []

  static func start() async throws -> Dialogue {
    let service = try await TestService.start()
    let phone = try await service.bind()
    _ = try await service.set(.passcode("2468"))
    return Dialogue(service, phone)
  }

  private init(_ service: TestService, _ phone: TestPhone) {
    self.service = service
    self.phone = phone
  }

  // MARK: Telling

  func title(_ text: String) {
    lines += ["", text]
  }

  func wait(seconds: Int64) {
    service.clock.advance(by: .seconds(seconds))
    lines.append("       \(seconds) s pass")
  }

  func canEvaluate(_ policy: String) async throws {
    let answer = try await service.canEvaluate(phone, policy: policy)
    lines.append("  can the phone evaluate \(policy)?")
    if let denial = answer.denial {
      lines.append("       no: \(denial.reason) (\(denial.laError.rawValue))")
      add(denial.message)
    } else {
      lines.append(
        "       yes, by \(Self.names(answer.factors)); biometry attempts left: \(answer.biometryAttemptsLeft)")
    }
  }

  func begin() async throws {
    opened = try await service.begin(phone)
    lines += ["  begin login", "       factors: \(Self.names(opened.factors))"]
  }

  func touch(wrongFinger: Bool) async throws {
    lines.append("  a \(wrongFinger ? "wrong" : "right") finger")
    add(try await service.submit(phone, opened, wrongFinger ? phone.wrongProof(for: opened) : phone.proof(for: opened)))
  }

  func type(_ passcode: String) async throws {
    lines.append("  passcode \(passcode)")
    add(try await service.submit(phone, opened, .typed(passcode)))
  }

  private func add(_ answer: V1.SubmitAttemptResponse) {
    var line = "       \(Outcome(rawValue: UInt8(answer.outcome.rawValue)).map { "\($0)" } ?? "unknown")"
    if answer.laError != .unspecified { line += " (\(answer.laError.rawValue))" }
    line += "; attempts left: \(answer.attemptsLeft)"
    if let retryAfter = answer.retryAfter { line += "; retry after \(retryAfter.seconds) s" }
    if !answer.nextFactors.isEmpty { line += "; next: \(Self.names(answer.nextFactors))" }
    if answer.presentation?.fallbackVisible == true { line += "; button: \(answer.presentation?.fallbackTitle ?? "")" }
    if !answer.token.isEmpty { line += "; a token for \(answer.profileID)" }
    lines.append(line)
    add(answer.message)
  }

  private func add(_ message: V1.LocalizedText?) {
    if let message { lines.append("       “\(message.text)”") }
  }

  private static func names(_ factors: [V1.Factor]) -> String {
    factors.map { Factor($0).map(\.settingName) ?? "unknown" }.joined(separator: ", ")
  }

  // MARK: Comparing

  func compare(with name: String) throws {
    let path = "\(#filePath)".split(separator: "/").dropLast(2).joined(separator: "/")
    let expected = try String(contentsOfFile: "/\(path)/Dialogues/\(name)", encoding: .utf8)
    let told = lines.dropFirst().joined(separator: "\n") + "\n"
    // The text after the comment's lines.
    let written = expected.split(separator: "\n", omittingEmptySubsequences: false).drop { $0.hasPrefix("#") }
      .joined(separator: "\n")
    #expect(told == written, "\(name) is to be:\n\(told)")
  }
}
