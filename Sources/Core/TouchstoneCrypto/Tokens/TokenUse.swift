/// How often a token serves, and how the token shows that (R40). A verifier of login tokens refuses the other uses
/// offline, because they have their own type (RFC 8725, section 3.11) and audience.
public enum TokenUse: Int, Sendable, Hashable, CaseIterable {
  /// A login: serves until it expires.
  case login
  /// Serves one call of ConsumeToken.
  case once
  /// Serves one call of ConsumeToken with the approved transaction.
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

  /// The suffix of the audience after the application.
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

  /// The application and the use of an audience. Application ids end in no suffix, so there is one answer.
  static func split(audience: String) -> (applicationID: String, use: TokenUse) {
    let use = allCases.first { $0.isNamed(atEndOf: audience) } ?? .login
    let count = audience.utf8.count - (use.audienceSuffix?.utf8CodeUnitCount ?? 0)
    return (String(decoding: audience.utf8.prefix(count), as: UTF8.self), use)
  }

  /// Why an application cannot have this id, to follow the field's name; `nil` if it can. Its login tokens would have
  /// the audience of another application's payments.
  public static func violation(inApplicationID id: String) -> String? {
    allCases.first { $0.isNamed(atEndOf: id) }.flatMap(\.audienceSuffix).map { "must not end in \($0)" }
  }

  private func isNamed(atEndOf text: String) -> Bool {
    guard let audienceSuffix else { return false }
    var text = text
    return text.withUTF8 { bytes in
      audienceSuffix.withUTF8Buffer { suffix in
        bytes.count >= suffix.count && bytes.suffix(suffix.count).elementsEqual(suffix)
      }
    }
  }
}
