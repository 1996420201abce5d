// The people and things in every world.

enum Names {
  /// Two that differ only in their bytes, as do some of the profiles.
  static let applications = ["com.example.café", "com.example.cafe\u{301}"]
  /// The one that serves passkeys, takes signatures of texts and the word of an app, and in some worlds takes no key
  /// without it.
  static let provenApplication = applications[0]
  static let appID = "A1B2C3D4E5.org.example.cafe"
  static let profiles = ["alice", "Alice", "am\u{E9}lie", "ame\u{301}lie"]
  static let devices = (1...4).map { "phone-\($0)-5f9c27e8ab4d6b" }
  static let unknownBindings = ["bnd-of-nobody", "AAAAAAAAAAAAAAAAAAAAAA"]
  static let unknownProfiles = ["nobody", "alice "]
  /// The reason that an operator gives for a revocation or an unlocking.
  static let reason = "the phone was lost"
  /// Only `Mirror` sends requests about these.
  enum Mirrored {
    static let application = "com.example.mirror"
    static let device = "phone-of-the-known-d41c7e0b93f52a"
    static let formerDevice = "phone-of-the-former-8b2f60c1e97d35"
  }

  static let passcodes = ["135790", "correct horse", "指纹登录"]
  static let gestures: [[UInt32]] = [[0, 1, 2, 5], [0, 3, 6, 7, 8], [2, 4, 6, 8]]

  /// As far as events may name them.
  static let all =
    applications + profiles + devices + unknownBindings + unknownProfiles
    + [Mirrored.application, Mirrored.device, Mirrored.formerDevice]
}
