// Why an attempt failed, in a clause for support staff: by the reasons of denials and of events.

internal import TouchstoneCodec
internal import TouchstonePolicy

enum LoginReasons {
  /// - Parameter reason: of a denial, as types.proto lists them.
  static func denial(_ reason: String) -> Phrase? {
    LoginObstacle.Cause(rawValue: reason).map { Phrase($0.text(in: .english), $0.text(in: .simplifiedChinese)) }
  }

  /// - Parameter reason: of the event of a failed attempt.
  static func attempt(_ reason: String) -> Phrase? { attempts[reason] ?? denial(reason) }

  /// Returns the reason of the latest attempt among the events, if it failed.
  ///
  /// - Parameter events: of the profile, the newest first.
  static func lastFailure(in events: [V1.Event]) -> Phrase? {
    let ended = ["evaluation.succeeded", "evaluation.failed", "evaluation.locked_out", "evaluation.factor_required"]
    guard let last = events.first(where: { ended.contains($0.kind) }), last.kind != "evaluation.succeeded",
      let reason = last.details["reason"]
    else {
      return nil
    }
    return .lastAttempt(attempt(reason) ?? Phrase(reason, reason))
  }

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
    "BIOMETRY_LOCKOUT": Phrase("biometrics were locked", "生物识别已锁定"),
    "PASSCODE_LOCKED": Phrase("the passcode was locked", "数字密码已锁定"),
    "GESTURE_LOCKED": Phrase("the gesture was locked", "手势已锁定"),
    "PASSCODE_DISABLED": Phrase("the passcode was disabled", "数字密码已停用"),
    "GESTURE_DISABLED": Phrase("the gesture was disabled", "手势已停用"),
    "FACTOR_NOT_OFFERED": Phrase("that way is switched off or not set for this profile", "此用户档案的该登录方式已关闭或未设置"),
    "PASSKEY_UNKNOWN": Phrase("the passkey is unknown", "通行密钥未知"),
    "PASSKEY_OF_ANOTHER": Phrase("the passkey belongs to another profile", "通行密钥属于另一用户档案"),
  ]
}

extension Phrase {
  static func lastAttempt(_ why: Phrase) -> Phrase {
    Phrase(
      "The last attempt failed: \(why.english).", "上次尝试失败：\(why.simplifiedChinese)。")
  }
}
