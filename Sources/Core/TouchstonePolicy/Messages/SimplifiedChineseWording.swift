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
