// Words a diagnosis for support staff. The console and the terminal show the same text.

extension LoginDiagnosis {
  /// - Parameter time: formats a time for the reader.
  public func text(in language: Language, time: (UnixTime) -> String) -> String {
    let words = language.diagnosisWords
    let answer =
      switch self.answer {
      case .yes: words.yes(words.list(factors.map(words.name)), reportedAt: reportedAt.map(time))
      case .no: words.no
      case .unknown: words.unknown
      }
    return ([answer] + obstacles.map { $0.text(in: words, time: time) }).joined(separator: words.separator)
  }
}

extension UnixTime {
  /// The end of a lock is rounded up: a login at the minute that it is cut to would still be refused.
  fileprivate var roundedUpToMinute: UnixTime { UnixTime(seconds: (seconds + 60) / 60 * 60) }
}

extension LoginObstacle {
  fileprivate func text(in words: any DiagnosisWords, time: (UnixTime) -> String) -> String {
    var statement = cause.text(in: words)
    if let until { statement = words.until(statement, time(until.roundedUpToMinute)) }
    if let since { statement = words.reported(statement, time(since)) }
    let sentence = words.sentence(words.list(factors.map(words.name)), statement)
    guard !remedies.isEmpty else { return sentence }
    return sentence + words.separator + words.helps(words.list(remedies.map { words.text($0) }))
  }
}

extension LoginObstacle.Cause {
  /// What is wrong, as a clause: "the device has no passcode of its own".
  public func text(in language: Language) -> String { text(in: language.diagnosisWords) }

  fileprivate func text(in words: any DiagnosisWords) -> String { words.text(self) }
}

extension Language {
  fileprivate var diagnosisWords: any DiagnosisWords {
    switch self {
    case .english: EnglishDiagnosisWords()
    case .simplifiedChinese: SimplifiedChineseDiagnosisWords()
    }
  }
}

/// A language's words for a diagnosis.
private protocol DiagnosisWords {
  var separator: String { get }
  var no: String { get }
  var unknown: String { get }
  /// - Parameter reportedAt: when the device reported the state on which the answer rests.
  func yes(_ factors: String, reportedAt: String?) -> String
  func name(_ factor: Factor) -> String
  func text(_ cause: LoginObstacle.Cause) -> String
  func text(_ remedy: LoginObstacle.Remedy) -> String
  /// - Parameter subject: the factors; empty: everything.
  func sentence(_ subject: String, _ statement: String) -> String
  func reported(_ statement: String, _ time: String) -> String
  func until(_ statement: String, _ time: String) -> String
  func helps(_ remedies: String) -> String
  func list(_ texts: [String]) -> String
}

private struct EnglishDiagnosisWords: DiagnosisWords {
  let separator = " "
  let no = "No login can succeed now."
  let unknown = "It is unknown whether a login can succeed now."

  func yes(_ factors: String, reportedAt: String?) -> String {
    "A login can succeed now, by \(factors)\(reportedAt.map { ", if the device is as it reported at \($0)" } ?? "")."
  }

  func name(_ factor: Factor) -> String {
    switch factor {
    case .biometry: "biometrics"
    case .deviceOwner: "device passcode"
    case .passcode: "passcode"
    case .gesture: "gesture"
    case .passkey: "passkey"
    case .primary: "the application's own login"
    }
  }

  func sentence(_ subject: String, _ statement: String) -> String {
    let text = subject.isEmpty ? statement : "\(subject): \(statement)"
    return "\(text.prefix(1).uppercased())\(text.dropFirst())."
  }

  func reported(_ statement: String, _ time: String) -> String { "\(statement) (as it reported at \(time))" }
  func until(_ statement: String, _ time: String) -> String { "\(statement), until \(time)" }
  func helps(_ remedies: String) -> String { "What helps: \(remedies)." }

  func list(_ texts: [String]) -> String {
    (texts.dropLast(2) + [texts.suffix(2).joined(separator: " or ")]).joined(separator: ", ")
  }

  func text(_ cause: LoginObstacle.Cause) -> String {
    switch cause {
    case .bindingRevoked: "the binding of this device is revoked"
    case .notSeen: "it depends on the state of the device, which is not known"
    case .osTooOld: "the device's system is too old for this"
    case .passcodeNotSet: "the device has no passcode of its own"
    case .biometryNotAvailable: "the device's sensor is missing, broken or switched off"
    case .biometryNotEnrolled: "no finger or face is enrolled on the device"
    case .biometryLockout: "locked by the service, after wrong attempts or the device's own report of a lock"
    case .biometryLockedByDevice: "locked by the device itself"
    case .domainStateNeverRecorded: "the policy needs a record of the enrolled fingers or faces, and there is none"
    case .domainStateUnknownWhileLocked: "the device was locked, and did not show whether its fingers or faces changed"
    case .domainStateChanged: "the device's fingers or faces are not those that the service has accepted"
    case .domainStateChangedWithOS:
      "since a system update, the device's fingers or faces do not look like those that the service has accepted"
    case .domainStateUnknown: "it is unknown whether the device's fingers or faces changed"
    case .domainStateRequired: "the policy needs the state of the enrolled fingers or faces, and the device gives none"
    case .platformNotServed: "this policy does not serve the device's platform"
    case .platformDiffers: "the device is of another platform than the one that was bound"
    case .noUsableFactor: "there is no key or passkey that this policy accepts"
    case .levelTooLow: "less is proven of the key than this policy asks for"
    case .appNotProven: "it is not proven that the key belongs to the application; its packages must be listed first"
    case .keyNotDeviceBound: "the passkey may be copied to other devices, and this policy accepts none of these"
    case .passcodeLocked: "locked after wrong attempts"
    case .gestureLocked: "locked after wrong attempts"
    case .passcodeDisabled: "disabled after too many wrong attempts"
    case .gestureDisabled: "disabled after too many wrong attempts"
    case .appAssertionRequired:
      "this policy asks for the app's own word (App Attest), and the binding has no key for it"
    case .switchedOff: "switched off for this profile"
    case .notSet: "not set"
    }
  }

  func text(_ remedy: LoginObstacle.Remedy) -> String {
    switch remedy {
    case .logInByDeviceOwner: "one login by device passcode on this device"
    case .logInByPasscode: "one login by passcode on this device"
    case .logInByGesture: "one login by gesture on this device"
    case .logInByPrimary: "one login by the application's own login on this device"
    case .acceptDomainState: "the application's own login, after which it accepts the present fingers or faces"
    case .unlockOnDevice: "an unlock of the device with its own passcode"
    case .wait: "waiting"
    case .unlockDevice: "an unlock of the device by support"
    case .unlockSecret: "an unlock by support"
    case .setSecret: "setting it after a login by other means"
    case .switchOn: "switching it on"
    case .updateSystem: "an update of the device's system"
    case .setDevicePasscode: "a passcode, set in the device's settings"
    case .enrolBiometry: "a finger or face, enrolled in the device's settings"
    case .bindDevice: "setting the device up after the application's own login"
    case .bindPasskey: "adding a passkey that this policy accepts"
    }
  }
}

private struct SimplifiedChineseDiagnosisWords: DiagnosisWords {
  let separator = ""
  let no = "现在无法登录。"
  let unknown = "尚不清楚现在能否登录。"

  func yes(_ factors: String, reportedAt: String?) -> String {
    "\(reportedAt.map { "如设备仍与 \($0) 上报时一致，" } ?? "")现在可以登录，方式：\(factors)。"
  }

  func name(_ factor: Factor) -> String {
    switch factor {
    case .biometry: "生物识别"
    case .deviceOwner: "设备锁屏密码"
    case .passcode: "数字密码"
    case .gesture: "手势"
    case .passkey: "通行密钥"
    case .primary: "应用自己的登录"
    }
  }

  func sentence(_ subject: String, _ statement: String) -> String {
    subject.isEmpty ? "\(statement)。" : "\(subject)：\(statement)。"
  }

  func reported(_ statement: String, _ time: String) -> String { "\(statement)（设备于 \(time) 上报）" }
  func until(_ statement: String, _ time: String) -> String { "\(statement)，至 \(time)" }
  func helps(_ remedies: String) -> String { "解决办法：\(remedies)。" }
  func list(_ texts: [String]) -> String { texts.joined(separator: "、") }

  func text(_ cause: LoginObstacle.Cause) -> String {
    switch cause {
    case .bindingRevoked: "此设备的绑定已撤销"
    case .notSeen: "取决于设备状态，而该状态未知"
    case .osTooOld: "设备系统版本过低"
    case .passcodeNotSet: "设备未设锁屏密码"
    case .biometryNotAvailable: "设备的生物识别传感器缺失、损坏或已关闭"
    case .biometryNotEnrolled: "设备上未录入指纹或面容"
    case .biometryLockout: "因多次错误或设备上报锁定，已由本服务锁定"
    case .biometryLockedByDevice: "已由设备自身锁定"
    case .domainStateNeverRecorded: "策略需要已录入指纹或面容的记录，而目前没有"
    case .domainStateUnknownWhileLocked: "设备当时已锁定，未显示指纹或面容是否变更"
    case .domainStateChanged: "设备上的指纹或面容与本服务认可的不同"
    case .domainStateChangedWithOS: "系统更新后，设备上的指纹或面容与本服务认可的不同"
    case .domainStateUnknown: "尚不清楚设备上的指纹或面容是否变更"
    case .domainStateRequired: "策略需要已录入指纹或面容的状态，而设备未提供"
    case .platformNotServed: "此策略不支持该设备的平台"
    case .platformDiffers: "设备平台与绑定时不同"
    case .noUsableFactor: "没有此策略接受的密钥或通行密钥"
    case .levelTooLow: "密钥的证明级别低于策略要求"
    case .appNotProven: "未能证明密钥属于该应用；须先在配置中列出应用包"
    case .keyNotDeviceBound: "该通行密钥可复制到其他设备，而此策略不接受"
    case .passcodeLocked: "多次输错，已锁定"
    case .gestureLocked: "多次画错，已锁定"
    case .passcodeDisabled: "输错次数过多，已停用"
    case .gestureDisabled: "画错次数过多，已停用"
    case .appAssertionRequired: "策略要求应用自身的证明（App Attest），而该绑定没有相应密钥"
    case .switchedOff: "此用户档案已关闭"
    case .notSet: "未设置"
    }
  }

  func text(_ remedy: LoginObstacle.Remedy) -> String {
    switch remedy {
    case .logInByDeviceOwner: "在此设备上用设备锁屏密码登录一次"
    case .logInByPasscode: "在此设备上用数字密码登录一次"
    case .logInByGesture: "在此设备上用手势登录一次"
    case .logInByPrimary: "在此设备上用应用自己的登录方式登录一次"
    case .acceptDomainState: "用应用自己的登录方式登录后，由应用认可现有的指纹或面容"
    case .unlockOnDevice: "用户用设备锁屏密码解锁设备"
    case .wait: "等待"
    case .unlockDevice: "客服解锁设备"
    case .unlockSecret: "客服解锁"
    case .setSecret: "以其他方式登录后设置"
    case .switchOn: "开启此方式"
    case .updateSystem: "用户更新设备系统"
    case .setDevicePasscode: "用户在设备设置中设锁屏密码"
    case .enrolBiometry: "用户在设备设置中录入指纹或面容"
    case .bindDevice: "以应用自己的方式登录后绑定设备"
    case .bindPasskey: "用户添加此策略接受的通行密钥"
    }
  }
}
