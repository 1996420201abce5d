// Why a login fails, in one sentence for support staff: what it is, and what helps. By the reasons of denials and of events.

internal import TouchstoneCodec

enum LoginReasons {
  /// - Parameter reason: of a denial, as types.proto lists them.
  static func denial(_ reason: String) -> Phrase? { denials[reason] }

  /// - Parameter reason: of the event of a failed attempt.
  static func attempt(_ reason: String) -> Phrase? { attempts[reason] ?? denials[reason] }

  private static let denials: [String: Phrase] = [
    "OS_TOO_OLD": Phrase(
      "The phone's system is too old for this policy: the person must update it.",
      "手机系统版本过低，不符合此策略：用户须更新系统。"),
    "PASSCODE_NOT_SET": Phrase(
      "The phone has no passcode: the person must set one in its settings.", "手机未设锁屏密码：用户须在系统设置中设置。"),
    "BIOMETRY_NOT_AVAILABLE": Phrase(
      "The phone's sensor is missing, broken or switched off.", "手机的生物识别传感器缺失、损坏或已关闭。"),
    "BIOMETRY_NOT_ENROLLED": Phrase(
      "No finger or face is enrolled on the phone.", "手机上未录入指纹或面容。"),
    "BIOMETRY_LOCKOUT": Phrase(
      "Biometrics are locked after too many failures: a login with the device's passcode or the passcode ends it, and so does “Unlock”.",
      "失败次数过多，生物识别已锁定：用设备锁屏密码或数字密码登录一次即可解除，也可由您“解锁”。"),
    "DOMAIN_STATE_REQUIRED": Phrase(
      "The policy needs to know whether the biometrics changed, and the phone does not tell.",
      "此策略需要确认生物识别是否变更，而手机未提供该信息。"),
    "PLATFORM_NOT_SERVED": Phrase(
      "This policy is not served on the phone's platform; a passkey may serve.", "此策略不支持该手机平台；可改用通行密钥。"),
    "PLATFORM_DIFFERS": Phrase(
      "The phone is of another platform than the one that was bound: it must be bound anew.",
      "手机平台与绑定时不同：须重新绑定。"),
    "PASSCODE_LOCKED": Phrase(
      "The passcode is locked after wrong attempts: waiting helps, and so does “Unlock”.",
      "数字密码因多次输错而锁定：可等待，或由您“解锁”。"),
    "GESTURE_LOCKED": Phrase(
      "The gesture is locked after wrong attempts: waiting helps, and so does “Unlock”.",
      "手势因多次画错而锁定：可等待，或由您“解锁”。"),
    "PASSCODE_DISABLED": Phrase(
      "The passcode is disabled after ten wrong attempts: the person must set it anew after a login by other means.",
      "数字密码因输错十次而停用：用户须以其他方式登录后重新设置。"),
    "GESTURE_DISABLED": Phrase(
      "The gesture is disabled after ten wrong attempts: the person must set it anew after a login by other means.",
      "手势因画错十次而停用：用户须以其他方式登录后重新设置。"),
    "FACTOR_NOT_OFFERED": Phrase(
      "The way to log in is switched off or not set for this profile.", "此用户档案的该登录方式已关闭或未设置。"),
    "NO_USABLE_FACTOR": Phrase(
      "The device has no key that this policy accepts: it must be bound anew.",
      "该设备没有此策略接受的密钥：须重新绑定。"),
    "LEVEL_TOO_LOW": Phrase(
      "Less is proven of the phone's keys than the policy asks for: bind it anew, with an attestation.",
      "手机密钥的证明级别低于策略要求：须带证明重新绑定。"),
    "APP_NOT_PROVEN": Phrase(
      "It is not proven that the phone's key belongs to the application: list its packages, and bind the phone anew.",
      "未能证明手机密钥属于该应用：请在配置中列出应用包，并重新绑定手机。"),
    "KEY_NOT_DEVICE_BOUND": Phrase(
      "The passkey may be copied to other devices, and the policy takes none of these.",
      "该通行密钥可复制到其他设备，而策略不接受此类密钥。"),
  ]

  private static let attempts: [String: Phrase] = [
    "SIGNATURE_INVALID": Phrase(
      "the signature was wrong: another key signed, or other bytes", "签名错误：由其他密钥签名或签名内容不同"),
    "PROFILE_TOUCH_ID_INVALID": Phrase("the ProfileTouchID was wrong", "ProfileTouchID 错误"),
    "WRONG_SECRET": Phrase("the passcode or gesture was wrong", "数字密码或手势错误"),
    "BINDING_NOT_ACTIVE": Phrase("the binding is revoked or unknown", "绑定已撤销或未知"),
    "REPORTED": Phrase("the phone reported the failure", "手机上报失败"),
    "ATTEMPTS_SPENT": Phrase("the attempts of this login were spent", "本次登录的尝试次数已用完"),
    "EVALUATION_EXPIRED": Phrase("the login took too long", "登录超时"),
    "EVALUATION_FINISHED": Phrase("the login had ended", "登录已结束"),
    "EVALUATION_UNKNOWN": Phrase("the login was unknown", "登录未知"),
    "POLICY_CHANGED": Phrase("the policy was changed meanwhile", "策略期间已变更"),
    "DOMAIN_STATE_CHANGED": Phrase("a finger or face was added or removed", "指纹或面容有增减"),
    "DOMAIN_STATE_CHANGED_WITH_OS": Phrase(
      "a finger or face was added or removed, or a system update changed the mark", "指纹或面容有增减，或系统更新改变了标记"),
    "DOMAIN_STATE_UNKNOWN_WHILE_LOCKED": Phrase("the phone has locked its biometrics", "手机已锁定生物识别"),
    "PASSKEY_UNKNOWN": Phrase("the passkey is unknown", "通行密钥未知"),
    "PASSKEY_OF_ANOTHER": Phrase("the passkey belongs to another profile", "通行密钥属于另一用户档案"),
  ]
}

extension Phrase {
  static func loginPossible(_ factors: Phrase) -> Phrase {
    Phrase(
      "A login is possible, by \(factors.english).", "可以登录，方式：\(factors.simplifiedChinese)。")
  }
  static func loginWithoutBiometry(_ why: Phrase, _ factors: Phrase) -> Phrase {
    Phrase(
      "Not by biometrics: \(why.english). A login is possible by \(factors.english).",
      "无法使用生物识别：\(why.simplifiedChinese)。可用方式：\(factors.simplifiedChinese)。")
  }
  static let biometricsChanged = Phrase(
    "a finger or face was added or removed since the last login by another factor", "自上次以其他方式登录以来，指纹或面容有增减")
  static let biometricsLocked = Phrase("the phone has locked its biometrics", "手机已锁定生物识别")
  static let biometricsSpent = Phrase("they are locked after too many failures", "失败次数过多，已锁定")
  static let biometricsOff = Phrase("they are switched off for this profile", "此用户档案已关闭生物识别")
  static let biometricsWithoutKey = Phrase(
    "the binding has no key for them that the policy accepts", "该绑定没有策略接受的生物识别密钥")
  static let biometricsNotReady = Phrase(
    "the phone's sensor is off or nothing is enrolled", "手机传感器已关闭或未录入")
  static let biometricsNotUsable = Phrase(
    "they are locked, switched off, or not usable on this phone now", "生物识别已锁定、已关闭或当前在此手机上不可用")
  static let loginUnknown = Phrase(
    "The phone was not seen since it was bound, so the rules cannot be tried without its state.",
    "该手机绑定后从未上报状态，无法试算。")
  static let loginImpossible = Phrase("No way to log in is left.", "没有可用的登录方式。")
  static func retryAfter(seconds: Int64) -> Phrase {
    Phrase(
      "Waiting helps: try again in \(Self.wait(seconds, "s", "min")).",
      "稍候即可：请在 \(Self.wait(seconds, "秒", "分钟"))后重试。")
  }
  static func lastAttempt(_ why: Phrase) -> Phrase {
    Phrase(
      "The last attempt failed: \(why.english).", "上次尝试失败：\(why.simplifiedChinese)。")
  }

  private static func wait(_ seconds: Int64, _ second: String, _ minute: String) -> String {
    seconds < 120 ? "\(max(1, seconds)) \(second)" : "\((seconds + 59) / 60) \(minute)"
  }

  /// "a, b and c".
  static func list(_ phrases: [Phrase]) -> Phrase {
    let english = phrases.map(\.english)
    let ending = english.suffix(2).joined(separator: " or ")
    return Phrase(
      (english.dropLast(2) + [ending]).joined(separator: ", "),
      phrases.map(\.simplifiedChinese).joined(separator: "、"))
  }
}
