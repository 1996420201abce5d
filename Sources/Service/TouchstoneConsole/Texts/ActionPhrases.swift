// The words of each action: what it is called, what follows from it, and what is said when it is done or no longer needed.

extension ConsoleAction {
  struct Words: Sendable {
    var title: Phrase
    /// Before it is done.
    var consequence: Phrase
    var button: Phrase
    var done: Phrase
    /// Somebody, or the person, was first.
    var meanwhile: Phrase
  }

  var words: Words {
    switch self {
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

  /// After an erasure, if older events were archived.
  static func archived(through sequence: UInt64) -> Phrase {
    Phrase(
      "Events up to number \(sequence) were archived before. Their files are cleared by `touchstone audit erase`.",
      "编号不超过 \(sequence) 的事件此前已归档，请用 `touchstone audit erase` 清除归档文件中的内容。")
  }
}
