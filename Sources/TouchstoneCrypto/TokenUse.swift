// How often a token serves, and how it says so (R40).

/// What a token is good for. A verifier of login tokens refuses the others offline: they have a type (RFC 8725, section
/// 3.11) and an audience of their own.
public enum TokenUse: Int, Sendable, Hashable, CaseIterable {
  /// A login: serves until it expires.
  case login
  /// Serves one call of ConsumeToken.
  case once
  /// Serves one call of ConsumeToken, with the transaction that was approved.
  case payment

  /// `single_use`
  public var isSingle: Bool { self != .login }

  /// `typ`
  var type: String {
    switch self {
    case .login: "JWT"
    case .once: "once+jwt"
    case .payment: "payment+jwt"
    }
  }

  /// What the audience has behind the application.
  private var audienceSuffix: StaticString? {
    switch self {
    case .login: nil
    case .once: "/once"
    case .payment: "/payment"
    }
  }

  /// `aud`
  func audience(of applicationID: String) -> String {
    guard let audienceSuffix else { return applicationID }
    return applicationID + audienceSuffix.description
  }

  /// Whose audience it is, and for which use. Application ids end in no suffix, so there is one answer.
  static func split(audience: String) -> (applicationID: String, use: TokenUse) {
    let use = allCases.first { $0.isNamed(atEndOf: audience) } ?? .login
    let count = audience.utf8.count - (use.audienceSuffix?.utf8CodeUnitCount ?? 0)
    return (String(decoding: audience.utf8.prefix(count), as: UTF8.self), use)
  }

  /// Why an application cannot have this id, to go behind the field's name; `nil` where it can. Its login tokens would be
  /// for the audience of another application's payments.
  public static func violation(inApplicationID id: String) -> String? {
    allCases.first { $0.isNamed(atEndOf: id) }.flatMap(\.audienceSuffix).map { "must not end in \($0)" }
  }

  private func isNamed(atEndOf text: String) -> Bool {
    guard let audienceSuffix else { return false }
    return audienceSuffix.withUTF8Buffer { suffix in
      text.utf8.count >= suffix.count && text.utf8.suffix(suffix.count).elementsEqual(suffix)
    }
  }
}
