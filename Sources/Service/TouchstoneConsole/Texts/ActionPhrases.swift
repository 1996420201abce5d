// The words of each action: its title, its consequence, its button, and the notices when it is done or no longer needed.

extension ConsoleAction {
  struct Words: Sendable {
    var title: Phrase
    /// Before it is done.
    var consequence: Phrase
    var button: Phrase
    var done: Phrase
    /// Another operator, or the person, was first.
    var meanwhile: Phrase
  }

  var words: Words {
    switch self {
    case .switchOn(let way): Self.switchOn(way)
    case .switchOff(let way): Self.switchOff(way)
    case .prefer(let way): Self.prefer(way)
    case .unlockDevice:
      Words(
        title: Phrase("Unlock the device's biometrics", "解锁设备的生物识别"),
        consequence: Phrase(
          "The count of failures becomes zero, for all applications of this vendor. Do this only when you know that the person has the phone.",
          "失败次数清零，对该厂商的所有应用生效。请先确认手机在本人手中。"),
        button: Phrase("Unlock", "解锁"),
        done: Phrase("The device is unlocked.", "设备已解锁。"),
        meanwhile: Phrase(
          "The device is not locked any more: another operator or the person was faster.",
          "设备已不再锁定：其他操作员或本人已先行处理。"))
    case .unlockPasscode:
      Words(
        title: Phrase("Unlock the passcode", "解锁数字密码"),
        consequence: Phrase(
          "The lock ends before its time, and the count of failures becomes zero.", "锁定提前结束，失败次数清零。"),
        button: Phrase("Unlock", "解锁"),
        done: Phrase("The passcode is unlocked.", "数字密码已解锁。"),
        meanwhile: Phrase(
          "The passcode is not locked any more: another operator or the person was faster.",
          "数字密码已不再锁定：其他操作员或本人已先行处理。"))
    case .unlockGesture:
      Words(
        title: Phrase("Unlock the gesture", "解锁手势"),
        consequence: Phrase(
          "The lock ends before its time, and the count of failures becomes zero.", "锁定提前结束，失败次数清零。"),
        button: Phrase("Unlock", "解锁"),
        done: Phrase("The gesture is unlocked.", "手势已解锁。"),
        meanwhile: Phrase(
          "The gesture is not locked any more: another operator or the person was faster.",
          "手势已不再锁定：其他操作员或本人已先行处理。"))
    case .preferNone:
      Words(
        title: Phrase("Offer no way first", "取消优先提供"),
        consequence: Phrase("The app offers the ways in the policy's order.", "应用按策略的顺序提供各方式。"),
        button: Phrase("Offer none first", "取消优先"),
        done: Phrase("No way is offered first.", "已取消优先提供。"),
        meanwhile: Phrase(
          "No way is offered first any more: another operator or the person was faster.",
          "已没有优先提供的方式：其他操作员或本人已先行处理。"))
    case .revoke:
      Words(
        title: Phrase("Revoke the binding", "撤销绑定"),
        consequence: Phrase(
          "This device can no longer log in, at once and for good, and its tokens become inactive. The person must bind it anew.",
          "此设备立即且永久无法登录，其令牌失效。用户必须重新绑定。"),
        button: Phrase("Revoke", "撤销"),
        done: Phrase("The binding is revoked.", "绑定已撤销。"),
        meanwhile: Phrase(
          "The binding is revoked already: another operator or the person was faster.",
          "绑定已被撤销：其他操作员或本人已先行处理。"))
    case .erase:
      Words(
        title: Phrase("Erase the profile", "删除用户档案"),
        consequence: Phrase(
          "Everything about this profile is removed: bindings, passcode, gesture, switches, and its events but for their hashes. It cannot be undone.",
          "将删除此用户档案的所有内容：绑定、数字密码、手势、开关，以及除哈希外的全部事件。此操作无法撤销。"),
        button: Phrase("Erase for good", "永久删除"),
        done: Phrase("The profile is erased.", "用户档案已删除。"),
        meanwhile: Phrase(
          "The profile is not there any more: another operator was faster.", "用户档案已不存在：其他操作员已先行处理。"))
    }
  }

  private static func switchOn(_ way: UnlockSwitch) -> Words {
    let name = way.phrase
    return Words(
      title: Phrase("Switch on \(name.english)", "开启\(name.simplifiedChinese)"),
      consequence: way == .biometry
        ? Phrase("The person may log in by biometrics again, on bound phones.", "用户可再次在已绑定的手机上用生物识别登录。")
        : Phrase(
          "The person may log in by \(name.english) again, if one is set.",
          "若已设置，用户可再次用\(name.simplifiedChinese)登录。"),
      button: Phrase("Switch on", "开启"),
      done: Phrase("Switched on: \(name.english).", "已开启\(name.simplifiedChinese)。"),
      meanwhile: Phrase(
        "This switch is on already: another operator or the person was faster.",
        "此开关已开启：其他操作员或本人已先行处理。"))
  }

  private static func switchOff(_ way: UnlockSwitch) -> Words {
    let name = way.phrase
    let consequence =
      switch way {
      case .biometry:
        Phrase(
          "Nothing that biometrics unlock serves for a login until the switch is on again.",
          "在重新开启之前，凡由生物识别解锁的方式都不能用于登录。")
      case .passcode:
        Phrase(
          "The passcode serves for no login until the switch is on again. It stays as it is.",
          "在重新开启之前，数字密码不能用于登录。数字密码本身保留。")
      case .gesture:
        Phrase(
          "The gesture is erased for good. The person sets one anew in the app.", "手势将被永久清除。用户须在应用中重新设置。")
      }
    return Words(
      title: Phrase("Switch off \(name.english)", "关闭\(name.simplifiedChinese)"), consequence: consequence,
      button: Phrase("Switch off", "关闭"),
      done: Phrase("Switched off: \(name.english).", "已关闭\(name.simplifiedChinese)。"),
      meanwhile: Phrase(
        "This switch is off already: another operator or the person was faster.",
        "此开关已关闭：其他操作员或本人已先行处理。"))
  }

  private static func prefer(_ way: UnlockSwitch) -> Words {
    let name = way.phrase
    return Words(
      title: Phrase("Offer \(name.english) first", "优先提供\(name.simplifiedChinese)"),
      consequence: Phrase(
        "The app offers this way before the others, if the policy accepts it.", "若策略接受，应用会先提供此方式。"),
      button: Phrase("Offer first", "优先提供"),
      done: Phrase("Offered first: \(name.english).", "已设为优先提供\(name.simplifiedChinese)。"),
      meanwhile: Phrase(
        "This way is off, or it is offered first already: another operator or the person was faster.",
        "此方式已关闭或已优先提供：其他操作员或本人已先行处理。"))
  }

  /// Said after an erasure, if older events were archived.
  static func archived(through sequence: UInt64) -> Phrase {
    Phrase(
      "Events up to number \(sequence) were archived before. Their files are cleared by `touchstone audit erase`.",
      "编号不超过 \(sequence) 的事件此前已归档，请用 `touchstone audit erase` 清除归档文件中的内容。")
  }
}

extension UnlockSwitch {
  /// Within a sentence.
  fileprivate var phrase: Phrase {
    switch self {
    case .biometry: Phrase("biometrics", "生物识别")
    case .passcode: Phrase("the passcode", "数字密码")
    case .gesture: Phrase("the gesture", "手势")
    }
  }

  /// As a heading.
  var name: Phrase {
    switch self {
    case .biometry: .biometry
    case .passcode: .passcode
    case .gesture: .gesture
    }
  }
}
