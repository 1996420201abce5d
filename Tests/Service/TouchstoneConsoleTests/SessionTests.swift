// A session's cookie says when it is over, and whose it is. The store's part is tried in test_console_accounts.py.

import DispatchRPC
import Testing
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneService

@testable import TouchstoneConsole

@Suite("Sessions of operators")
struct SessionTests {
  private let start = UnixTime(seconds: 1_800_000_000)
  private let end: UnixTime
  private let address: SocketAddress
  private let provided = Operator(
    name: "oidc:a@b", role: .admin, applications: .all, accountID: "oidc:1", basis: [1, 2])
  private let account = Operator(
    OperatorDefinition(name: "anna", password: .standIn(PasswordHash.standard), role: .read, applications: .all))

  init() throws {
    end = start + Session.absoluteTime
    address = try Self.address("10.0.0.1")
  }

  private static func address(_ host: String, port: UInt16 = 1_000) throws -> SocketAddress {
    try #require(try SocketAddress.resolve(host: host, port: port).first)
  }

  private func session(of account: Operator? = nil) -> Session {
    Session(of: account ?? self.account, epoch: 7, formToken: "token", from: address, at: start)
  }

  @Test(
    "A session is over after its idle time, after the working day, and if the clock was set back",
    arguments: [
      (.zero, .open), (Session.idleTime - .microseconds(1), .open), (Session.idleTime, .over),
      (.zero - Session.toleratedLead, .open), (.zero - Session.toleratedLead - .microseconds(1), .over),
    ] as [(Duration, Session.Verdict)])
  func idleness(after time: Duration, expected: Session.Verdict) {
    #expect(session().verdict(expiresAt: end, from: address, at: start + time) == expected)
  }

  @Test("A session that is used all the time ends with the working day")
  func absoluteTime() {
    var session = session()
    session.usedAt = end
    #expect(session.verdict(expiresAt: end, from: address, at: end + .microseconds(-1)) == .open)
    #expect(session.verdict(expiresAt: end, from: address, at: end) == .over)
  }

  @Test("A role of an identity provider's ends after an hour")
  func providedRole() {
    var session = session(of: provided)
    let end = start + .seconds(3_600)
    session.usedAt = end
    #expect(session.verdict(expiresAt: self.end, from: address, at: end + .microseconds(-1)) == .open)
    #expect(session.verdict(expiresAt: self.end, from: address, at: end) == .over)
  }

  @Test("Another address is another client, another port is not")
  func addresses() throws {
    let (port, other) = (try Self.address("10.0.0.1", port: 2_000), try Self.address("10.0.0.2"))
    #expect(session().verdict(expiresAt: end, from: port, at: start) == .open)
    #expect(session().verdict(expiresAt: end, from: other, at: start) == .moved)
    // A session that is over is no theft.
    #expect(session().verdict(expiresAt: end, from: other, at: end) == .over)
  }

  @Test("The account may be changed for five minutes after the sign-in")
  func freshness() {
    #expect(Session.isFresh(expiresAt: end, at: start + .seconds(300) + .microseconds(-1)))
    #expect(!Session.isFresh(expiresAt: end, at: start + .seconds(300)))
  }

  @Test("The cookie brings everything back")
  func coding() throws {
    var plain = session()
    #expect(Session(plain.bytes) == plain)
    plain.notice = Session.Notice(page: "/console/profile?profile=a", action: .switchOff(.gesture), archivedThrough: 9)
    #expect(Session(plain.bytes) == plain)
    let provided = session(of: provided)
    #expect(Session(provided.bytes) == provided)
    #expect(try #require(Session(provided.bytes)).role == .admin)
    // The configuration's role counts, so the cookie has none.
    #expect(plain.role == nil)
  }

  @Test("Bytes of another version are no session", arguments: ["", "a\nb", "\n\n\n\n\n\n\n\n\n\n"])
  func otherVersions(_ text: String) {
    #expect(Session(Array(text.utf8)) == nil)
  }

  @Test("A notice is for its own page")
  func notices() {
    var session = session()
    session.notice = Session.Notice(page: "/console/profile?profile=a", action: .revoke, archivedThrough: 0)
    #expect(session.notice(at: "/console") == nil)
    #expect(session.notice(at: "/console/profile?profile=a")?.action == .revoke)
  }

  @Test("Another password, and another mapping of the provider's groups, is another basis")
  func bases() throws {
    let parameters = try #require(PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1))
    let hashes = try (0..<2).map { _ in
      try PasswordHash.make(of: SecretBytes("the same password".utf8), parameters: parameters)
    }
    let accounts = hashes.map {
      Operator(OperatorDefinition(name: "anna", password: $0, role: .read, applications: .all))
    }
    #expect(accounts[0].basis != accounts[1].basis)
    #expect(accounts[0].basis.count == OperatorAccount.basisBytes)
  }
}
