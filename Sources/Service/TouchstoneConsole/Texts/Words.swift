// The API's own words in both languages: factors, sensors, protections, kinds of events, roles.

internal import TouchstoneCodec

extension V1.Factor {
  var phrase: Phrase {
    switch self {
    case .biometry: Phrase("biometrics", "生物识别")
    case .deviceOwner: Phrase("biometrics or device passcode", "生物识别或锁屏密码")
    case .passcode: Phrase("passcode", "数字密码")
    case .gesture: Phrase("gesture", "手势")
    case .passkey: Phrase("passkey", "通行密钥")
    case .primary: Phrase("the application's own login", "应用自己的登录")
    default: Phrase("another way (\(rawValue))", "其他方式（\(rawValue)）")
    }
  }
}

extension V1.BiometryType {
  var phrase: Phrase {
    switch self {
    case .touchID: Phrase("Touch ID", "触控 ID")
    case .faceID: Phrase("Face ID", "面容 ID")
    case .opticID: Phrase("Optic ID", "Optic ID")
    case .voice: Phrase("voice", "声纹")
    case .none: Phrase("none", "无")
    default: Phrase("not told", "未知")
    }
  }
}

extension V1.AttestationLevel {
  var phrase: Phrase {
    switch self {
    case .selfAttested: Phrase("by the key itself", "密钥自证")
    case .app: Phrase("by a genuine app", "由正版应用证明")
    case .tee: Phrase("by secure hardware", "由安全硬件证明")
    case .strongbox: Phrase("by a security chip", "由安全芯片证明")
    default: Phrase("none", "无")
    }
  }
}

extension V1.KeyProtection {
  var phrase: Phrase {
    switch self {
    case .biometryCurrentSet: Phrase("the present biometrics", "当前生物识别")
    case .biometryAny: Phrase("any biometrics", "任意生物识别")
    case .userPresence: Phrase("biometrics or device passcode", "生物识别或锁屏密码")
    case .devicePasscode: Phrase("device passcode", "设备锁屏密码")
    default: Phrase("unknown", "未知")
    }
  }
}

extension V1.CredentialKind {
  var phrase: Phrase {
    switch self {
    case .hardwareKey: Phrase("hardware key", "硬件密钥")
    case .profileTouchID: Phrase("ProfileTouchID", "ProfileTouchID")
    case .passkey: .passkey
    default: Phrase("unknown", "未知")
    }
  }
}

extension OperatorRole {
  var phrase: Phrase {
    switch self {
    case .read: Phrase("read", "只读")
    case .support: Phrase("support", "客服")
    case .admin: Phrase("admin", "管理员")
    }
  }
}

/// The meaning of a kind of event; a kind without an entry is shown as it is.
enum EventKinds {
  static func phrase(_ kind: String) -> Phrase? { phrases[kind] }

  /// The first words of kinds, by which a list can be narrowed.
  static let groups = [
    "evaluation.", "binding.", "secret.", "device.", "settings.", "profile.", "token.", "operator.", "call.",
  ]

  private static let phrases: [String: Phrase] = [
    "evaluation.denied": Phrase("Login denied", "登录被拒绝"),
    "evaluation.succeeded": Phrase("Login succeeded", "登录成功"),
    "evaluation.failed": Phrase("Attempt failed", "尝试失败"),
    "evaluation.locked_out": Phrase("Locked out", "已锁定"),
    "evaluation.canceled": Phrase("Canceled", "已取消"),
    "evaluation.fallback": Phrase("Other way chosen", "选择其他方式"),
    "evaluation.factor_required": Phrase("Another factor needed", "需要其他验证方式"),
    "evaluation.refused": Phrase("Attempt refused", "尝试被拒绝"),
    "evaluation.invalidated": Phrase("Login abandoned", "登录已放弃"),
    "binding.created": Phrase("Device bound", "设备已绑定"),
    "binding.revoked": Phrase("Binding revoked", "绑定已撤销"),
    "binding.denied": Phrase("Binding denied", "绑定被拒绝"),
    "binding.refused": Phrase("Binding refused", "绑定请求被拒绝"),
    "binding.domain_state_accepted": Phrase("Changed biometrics accepted", "已接受生物识别变更"),
    "secret.set": Phrase("Passcode or gesture set", "已设置数字密码或手势"),
    "secret.removed": Phrase("Passcode or gesture removed", "已移除数字密码或手势"),
    "secret.unlocked": Phrase("Passcode or gesture unlocked", "已解锁数字密码或手势"),
    "secret.refused": Phrase("Request about a secret refused", "数字密码或手势请求被拒绝"),
    "settings.changed": Phrase("Switches changed", "开关已更改"),
    "token.consumed": Phrase("Token consumed", "令牌已使用"),
    "token.revoked": Phrase("Token revoked", "令牌已撤销"),
    "token.refused": Phrase("Token refused", "令牌被拒绝"),
    "device.unlocked": Phrase("Device unlocked", "设备已解锁"),
    "device.refused": Phrase("Unlock refused", "解锁被拒绝"),
    "device.shared": Phrase("Device id of many profiles", "设备标识对应多个账户"),
    "profile.erased": Phrase("Profile erased", "用户档案已删除"),
    "profile.refused": Phrase("Profile unknown", "用户档案未知"),
    "call.refused": Phrase("Caller refused", "调用方被拒绝"),
    "operator.signed_in": Phrase("Operator signed in", "操作员已登录"),
    "operator.signed_out": Phrase("Operator signed out", "操作员已退出"),
    "events.archived": Phrase("Events archived", "事件已归档"),
    "events.not_archived": Phrase("Archiving fails", "归档失败"),
    "store.restored": Phrase("Store restored", "存储已恢复"),
    "clock.behind": Phrase("Clock behind", "时钟滞后"),
    "trust.too_old": Phrase("Trust data too old", "信任数据过旧"),
    "log.signed": Phrase("Accounts are signed", "记录已签名"),
    "log.broken": Phrase("Log altered", "日志被篡改"),
  ]
}
