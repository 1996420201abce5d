struct SimplifiedChineseWording: Wording {
  let defaultFallbackTitle = "输入密码"
  let sentenceSeparator = ""
  let tryAgain = "请再试一次。"
  let startAgain = "请重新开始。"
  let signInAgain = "请重新登录。"

  func sentence(_ occasion: Occasion, _ biometry: BiometryType) -> String {
    let name = Self.sensorName(biometry)
    switch occasion {
    case .updateNeeded: return "此设备需要更新软件，才能在此使用\(name)。"
    case .devicePasscodeMissing: return "要使用\(name)，请先在此设备的“设置”中开启锁屏密码。"
    case .biometryNotAvailable: return "此设备目前无法使用\(name)。"
    case .biometryNotEnrolled: return "尚未设置\(name)。你可以在此设备的“设置”中完成设置。"
    case .biometryPaused: return "多次尝试后，\(name)已停用。"
    case .deviceNotSuited: return "此设备暂时无法用于此操作。更新软件可能会有帮助。"
    case .kindOfDeviceNotServed: return "此类设备目前还不支持此操作。"
    case .kindOfDeviceDiffers: return "此设备与当初设置的设备不符。请重新设置。"
    case .deviceNoLongerSetUp: return "此设备已不再为你的账户设置。请重新设置。"
    case .noWayYet: return "此设备还不能确认是你本人。"
    case .deviceNotProven: return "此设备需要重新设置，才能用于此操作。"
    case .passkeyNotSuited: return "此操作需要只保存在一台设备上的通行密钥，例如安全密钥。"
    case .wayNotOffered: return "目前无法使用这种方式。"

    case .passcodePaused: return "为保护你的账户安全，密码已暂时停用。"
    case .gesturePaused: return "为保护你的账户安全，手势已暂时停用。"
    case .passcodeDisabled: return "为保护你的账户安全，密码已停用。重新登录后，你可以设置新的密码。"
    case .gestureDisabled: return "为保护你的账户安全，手势已停用。重新登录后，你可以设置新的手势。"

    case .biometryNotRecognized: return notRecognized(biometry)
    case .deviceOwnerNotConfirmed: return "你的设备未能确认是你本人。"
    case .passcodeDidNotMatch: return "密码不正确。"
    case .gestureDidNotMatch: return "手势不正确。"
    case .passkeyDidNotMatch: return "通行密钥不匹配。"
    case .biometryGaveUp: return "\(name)这次未能确认是你本人。"
    case .deviceOwnerGaveUp: return "你的设备这次未能确认是你本人。"
    case .biometryChanged: return "此设备上的\(name)在上次设置之后有了变化。"
    case .biometryChangedWithUpdate: return "此设备已更新，暂时还不能使用\(name)。"
    case .canceled: return "已取消。你可以随时再试。"
    case .interrupted: return "此设备上有其他事项打断了操作。你可以随时再试。"
    case .canceledByApp: return "App 停止了这次操作。你可以随时再试。"
    case .otherWayChosen: return ""
    case .otherWayNeeded: return "这次需要使用其他方式。"
    case .requestEnded: return "这次请求已结束。"

    case .companionOutOfReach: return "配对的设备不在附近。请将它靠近后使用。"
    case .accessoryNotPaired: return "带有\(name)的配件尚未配对。你可以在此设备的“设置”中配对。"
    case .accessoryNotConnected: return "带有\(name)的配件尚未连接。请连接后使用。"
    case .didNotFit: return "屏幕上无法完整显示这次请求。"
    case .cannotBeShownNow: return "目前无法显示这次请求。请打开 App 后再试。"
    case .unexpected: return "此设备上出现了意外情况。"

    case .signInTooOld: return "距离你上次登录已有一段时间。请重新登录。"
    case .deviceOfAnotherAccount: return "此设备已用于另一个账户。你可以将它改用于这个账户。"
    case .tooManyDevices: return "你的账户已达到设备数量上限。请先移除一台设备。"
    case .passcodeTooSimple: return "请设置 4 至 64 个字符的密码，其中至少包含两种不同的字符。"
    case .gestureTooSimple: return "请绘制经过 4 至 9 个点的手势，每个点只经过一次。"
    case .entriesDiffer: return "两次输入不一致。"
    case .deviceNotSetUp: return "此设备暂时未能完成设置。"
    case .otherWayMustComeFirst: return "此设备上的\(name)有了变化。请先使用其他方式登录。"
    case .busy: return "服务暂时繁忙。"
    }
  }

  private func notRecognized(_ biometry: BiometryType) -> String {
    switch biometry {
    case .touchID: "触控 ID 未能识别你的指纹。"
    case .faceID: "面容 ID 未能识别你的面容。"
    case .opticID: "Optic ID 未能识别你的虹膜。"
    case .voice: "声纹识别未能识别你的声音。"
    case .unspecified, .none: "生物识别未能确认是你本人。"
    }
  }

  func oneTryLeft(_ lastTry: LastTry, _ biometry: BiometryType) -> String {
    switch lastTry {
    case .biometryIsTurnedOff: "再错一次，\(Self.sensorName(biometry))将在此停用。"
    case .secretIsPaused: "再错一次将暂停使用。"
    case .secretIsTurnedOff: "再错一次将停用。"
    }
  }

  func use(_ factors: [Factor], _ biometry: BiometryType) -> String {
    "请\(phrases(factors, biometry))以继续。"
  }

  func tryAgain(in wait: Wait, orUse factors: [Factor], _ biometry: BiometryType) -> String {
    let pause = "请在 \(Self.text(wait))后重试"
    return factors.isEmpty ? "\(pause)。" : "\(pause)，或\(phrases(factors, biometry))。"
  }

  private func phrases(_ factors: [Factor], _ biometry: BiometryType) -> String {
    factors.map { phrase($0, biometry) }.joined(separator: "或")
  }

  private func phrase(_ factor: Factor, _ biometry: BiometryType) -> String {
    switch factor {
    case .biometry: "使用\(Self.sensorName(biometry))"
    case .deviceOwner: "使用设备的锁屏密码"
    case .passcode: "输入密码"
    case .gesture: "绘制手势"
    case .passkey: "使用通行密钥"
    case .primary: "重新登录"
    }
  }

  private static func text(_ wait: Wait) -> String {
    switch wait.unit {
    case .second: "\(wait.count) 秒"
    case .minute: "\(wait.count) 分钟"
    case .hour: "\(wait.count) 小时"
    case .day: "\(wait.count) 天"
    }
  }

  /// A space between Chinese characters and the Latin letters or digits beside them, as Apple sets it.
  func typeset(_ text: String) -> String {
    var result = ""
    var previous: Character?
    for character in text {
      if let previous, previous.isHan && character.isLatin || previous.isLatin && character.isHan {
        result.append(" ")
      }
      result.append(character)
      previous = character
    }
    return result
  }

  /// As Apple names it in Chinese.
  private static func sensorName(_ biometry: BiometryType) -> String {
    switch biometry {
    case .touchID: "触控 ID"
    case .faceID: "面容 ID"
    case .opticID: "Optic ID"
    case .voice: "声纹识别"
    case .unspecified, .none: "生物识别"
    }
  }
}

extension Character {
  /// The Unicode block of all characters above: CJK Unified Ideographs.
  fileprivate var isHan: Bool { unicodeScalars.allSatisfy { (0x4E00...0x9FFF).contains($0.value) } }
  fileprivate var isLatin: Bool { isASCII && (isLetter || isNumber) }
}

// MARK: - Diagnosis

extension SimplifiedChineseWording: DiagnosisWording {
  var no: String { "现在无法登录。" }
  var unknown: String { "尚不清楚现在能否登录。" }

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
    case .bindingUnknown: "该应用没有此绑定"
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

  var deviceNames: DeviceNames {
    DeviceNames(
      unnamedDevice: "未命名设备", passkey: "通行密钥", withoutDevice: "任意设备", neverUsed: "从未使用",
      lastUsed: { "上次使用 \($0)" })
  }
}
