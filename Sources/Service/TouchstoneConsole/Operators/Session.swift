// An operator's session, as its sealed cookie has it: each replica with the same keys takes it. Pure: time is an
// argument.

internal import DispatchRPC
internal import Encodings
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// The store ends it before its time: its key is used up, or its account's epoch has risen.
struct Session: Sendable, Hashable {
  /// Without a request. Long enough for a phone call with a customer.
  static let idleTime = Duration.seconds(15 * 60)
  /// In all: a working day.
  static let absoluteTime = Duration.seconds(8 * 60 * 60)
  /// In all, if an identity provider gave the role: it does not tell who has left a group since.
  static let providedRoleTime = Duration.seconds(60 * 60)
  /// After the sign-in. Later the operator signs in again before the account is changed.
  static let freshTime = EnrolmentPolicy().primaryFreshness
  /// Replicas' clocks may differ. A session from further ahead is over: the clock was set back.
  static let toleratedLead = Duration.seconds(60)

  /// Says once, on the page that follows an action, that it was done. No link can claim that.
  struct Notice: Sendable, Hashable {
    /// A digest of the page, with its query.
    var page: String
    var action: ConsoleAction
    /// Older events that an erasure left in the archive; 0: none.
    var archivedThrough: UInt64

    init(page: String, action: ConsoleAction, archivedThrough: UInt64) {
      (self.page, self.action, self.archivedThrough) = (Session.digest(of: page), action, archivedThrough)
    }
  }

  enum Verdict: Equatable {
    case open
    case over
    /// It came from another address.
    case moved
  }

  /// As the audit log has it, after "operator:".
  var name: String
  /// The record of the account in the store.
  var accountID: String
  /// As the identity provider's groups gave it; `nil`: the configuration's present one.
  var role: OperatorRole?
  /// See `Operator.basis`.
  var basis: [UInt8]
  var epoch: Int64
  /// Stands in each form of the session.
  var formToken: String
  /// A digest of the client's, without its port.
  var address: String
  var usedAt: UnixTime
  var notice: Notice?

  init(of account: Operator, epoch: Int64, formToken: String, from address: SocketAddress, at now: UnixTime) {
    (name, accountID, role, basis) = (account.name, account.accountID, account.providedRole, account.basis)
    (self.epoch, self.formToken, usedAt) = (epoch, formToken, now)
    self.address = Self.digest(of: address.subscriber.description)
  }

  /// - Parameter expiresAt: its key's.
  func verdict(expiresAt: UnixTime, from address: SocketAddress, at now: UnixTime) -> Verdict {
    let end = role == nil ? expiresAt : Self.beginning(expiresAt: expiresAt) + Self.providedRoleTime
    guard now < end, now < usedAt + Self.idleTime, usedAt <= now + Self.toleratedLead else { return .over }
    return self.address == Self.digest(of: address.subscriber.description) ? .open : .moved
  }

  /// - Parameter expiresAt: its key's.
  static func isFresh(expiresAt: UnixTime, at now: UnixTime) -> Bool {
    now < beginning(expiresAt: expiresAt) + freshTime
  }

  /// The sign-in's time.
  static func beginning(expiresAt: UnixTime) -> UnixTime { expiresAt + (.zero - absoluteTime) }

  /// The notice for this page.
  func notice(at page: String) -> Notice? { notice?.page == Self.digest(of: page) ? notice : nil }

  /// 96 bits: nothing is gained by a page or an address with the same ones.
  private static func digest(of text: String) -> String { Base64URL.encode(Array(sha256(Array(text.utf8)).prefix(12))) }
}

// MARK: - Bytes

extension Session {
  private static let separator: Character = "\n"
  private static let fieldCount = 11

  /// Lines, of which none has a line feed.
  var bytes: [UInt8] {
    let lines = [
      name, accountID, role?.rawValue ?? "", Base64URL.encode(basis), "\(epoch)", formToken, address,
      "\(usedAt.microseconds)", notice?.page ?? "", notice?.action.rawValue ?? "", "\(notice?.archivedThrough ?? 0)",
    ]
    return Array(lines.joined(separator: String(Self.separator)).utf8)
  }

  /// - Parameter bytes: authentic ones. `nil`: another version's.
  init?(_ bytes: [UInt8]) {
    let lines = String(decoding: bytes, as: UTF8.self).split(
      separator: Self.separator, omittingEmptySubsequences: false
    ).map(String.init)
    guard lines.count == Self.fieldCount, let basis = Base64URL.decode(lines[3]), let epoch = Int64(lines[4]),
      let usedAt = Int64(lines[7])
    else { return nil }
    (name, accountID, role) = (lines[0], lines[1], OperatorRole(rawValue: lines[2]))
    (self.basis, self.epoch, formToken, address) = (basis, epoch, lines[5], lines[6])
    self.usedAt = UnixTime(microseconds: usedAt)
    if let action = ConsoleAction(rawValue: lines[9]) {
      notice = Notice(page: "", action: action, archivedThrough: UInt64(lines[10]) ?? 0)
      notice?.page = lines[8]
    }
  }
}
