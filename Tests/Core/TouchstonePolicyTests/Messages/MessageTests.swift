import Testing

@testable import TouchstonePolicy

/// Every refusal and every error, by biometry type, in each language (R20).
@Suite struct MessageTests {
  // MARK: None is missing

  // R20
  @Test(arguments: Language.allCases, BiometryType.allCases)
  func everyDenialIsExplained(_ language: Language, _ biometry: BiometryType) {
    for reason in Denial.Reason.allCases {
      for retryAfter in [nil, Duration.seconds(300)] {
        let denial = Denial(code: .authenticationFailed, reason: reason, retryAfter: retryAfter)
        expectGood(Message(denial, biometry: biometry, in: language))
      }
    }
  }

  // R20: whatever the rules may ever answer, also what they do not today.
  @Test(arguments: Language.allCases, BiometryType.allCases)
  func everyOutcomeButASuccessIsExplained(_ language: Language, _ biometry: BiometryType) {
    var messages: Set<Message> = []
    for decision in Self.decisions {
      for factor in Factor.allCases.map(Optional.some) + [nil] {
        let message = Message(decision, by: factor, biometry: biometry, in: language)
        if (message == nil) != (decision.outcome == .succeeded) { Issue.record("\(decision)") }
        if let message { messages.insert(message) }
      }
    }
    #expect(messages.count > 100)
    for message in messages { expectGood(message) }
  }

  // R20
  @Test(arguments: Language.allCases) func everyRefusedCallIsExplained(_ language: Language) {
    for refusal in CallRefusal.allCases { expectGood(Message(refusal, in: language)) }
  }

  /// The ways to go on: factors, time to wait, attempts left.
  private static let contexts: [([Factor], Duration?, UInt32)] = [
    ([], nil, 1), ([.passcode], nil, 2), ([.gesture, .deviceOwner, .primary], .seconds(60), 1), ([], .seconds(60), 2),
  ]

  private static let decisions: [AttemptDecision] = Outcome.allCases.flatMap { outcome in
    (LAErrorCode.allCases.map(Optional.some) + [nil]).flatMap { code in
      [nil, .changed, .changedWithOS].flatMap { (verdict: DomainStateVerdict?) in
        contexts.map { factors, retryAfter, attemptsLeft in
          AttemptDecision(
            outcome: outcome, laError: code, nextFactors: factors, attemptsLeft: attemptsLeft, domainState: verdict,
            retryAfter: retryAfter)
        }
      }
    }
  }

  /// A text of that language, of whole sentences, in words that people use.
  private func expectGood(_ message: Message) {
    let text = message.text
    let isComplete = text.hasSuffix(message.language == .english ? "." : "。") && !text.contains("  ")
    #expect(isComplete && isWritten(text, in: message.language), "\(text)")
    let jargon = Self.jargon.filter { text.lowercased().replacing("passcode", with: "").contains($0) }
    #expect(jargon.isEmpty, "\(text)")
    // Numbers are times and lengths, never codes.
    let numbers = text.split { !$0.isASCII || !$0.isNumber }
    #expect(numbers.allSatisfy { ["1", "5", "4", "9", "64"].contains($0) } && !text.contains("-"), "\(text)")
  }

  private func isWritten(_ text: String, in language: Language) -> Bool {
    let hasChinese = text.unicodeScalars.contains { (0x4E00...0x9FFF).contains($0.value) }
    switch language {
    case .english: return text.allSatisfy(\.isASCII)
    case .simplifiedChinese:
      // Latin is for names alone.
      let latin = text.split { !$0.isASCII || !$0.isLetter }
      return hasChinese && latin.allSatisfy { ["ID", "Optic", "App"].contains($0) }
    }
  }

  private static let jargon = [
    "error", "code", "authenticat", "biometry", "domain", "polic", "evaluation", "credential", "token",
    "factor",
    "invalid", "illegal", "fail", "wrong", "incorrect", "context", "lockout", "denied", "null", "nil", "enrol",
    "错误", "失败", "无效", "非法", "认证", "鉴权", "凭证", "策略", "令牌", "锁定",
  ]

  // MARK: The messages' texts

  // R20
  @Test func theSensorIsNamedAsItsMakerDoes() {
    let names: [(BiometryType, english: String, chinese: String)] = [
      (.touchID, "Touch ID", "触控 ID"), (.faceID, "Face ID", "面容 ID"), (.opticID, "Optic ID", "Optic ID"),
      (.voice, "Voice recognition", "声纹识别"), (.unspecified, "Biometrics", "生物识别"), (.none, "Biometrics", "生物识别"),
    ]
    let denial = Denial(code: .biometryLockout, reason: .biometryLockout)
    for (biometry, english, chinese) in names {
      #expect(Message(denial, biometry: biometry, in: .english).text.hasPrefix(english))
      #expect(Message(denial, biometry: biometry, in: .simplifiedChinese).text.contains(chinese))
    }
  }

  // R20: each occasion has words of its own.
  @Test(arguments: Language.allCases) func noTwoOccasionsSayTheSame(_ language: Language) {
    let texts = Occasion.allCases.map { language.wording.sentence($0, .faceID) }
    #expect(Set(texts).count == texts.count)
  }

  // R20
  @Test(arguments: [
    (Duration.zero, "1 second", "1 秒"), (.milliseconds(1_001), "2 seconds", "2 秒"),
    (.seconds(59), "59 seconds", "59 秒"),
    (.seconds(60), "1 minute", "1 分钟"), (.seconds(61), "2 minutes", "2 分钟"), (.seconds(300), "5 minutes", "5 分钟"),
    (.seconds(299) + .nanoseconds(1), "5 minutes", "5 分钟"), (.seconds(3_600), "60 minutes", "60 分钟"),
    (.seconds(7_199), "120 minutes", "120 分钟"), (.seconds(7_200), "2 hours", "2 小时"),
    (.seconds(172_799), "48 hours", "48 小时"), (.seconds(172_801), "3 days", "3 天"), (.seconds(-5), "1 second", "1 秒"),
  ]) func theTimeToWaitIsNeverTooShort(_ wait: Duration, _ english: String, _ chinese: String) {
    let denial = Denial(code: .authenticationFailed, reason: .passcodeLocked, retryAfter: wait)
    #expect(Message(denial, biometry: .none, in: .english).text.hasSuffix("Try again in \(english)."))
    #expect(Message(denial, biometry: .none, in: .simplifiedChinese).text.hasSuffix("请在 \(chinese)后重试。"))
  }

  // R20, golden
  @Test func anAttemptIsAnsweredInWholeSentences() {
    func text(_ decision: AttemptDecision, by factor: Factor?, _ biometry: BiometryType = .faceID) -> [String] {
      [Language.english, .simplifiedChinese].compactMap { language in
        Message(decision, by: factor, biometry: biometry, in: language)?.text
      }
    }
    #expect(
      text(AttemptDecision(outcome: .tryAgain, laError: .authenticationFailed, attemptsLeft: 4), by: .biometry) == [
        "Face ID didn't recognize your face. Please try again.", "面容 ID 未能识别你的面容。请再试一次。",
      ])
    #expect(
      text(AttemptDecision(outcome: .tryAgain, laError: .authenticationFailed, attemptsLeft: 1), by: .passcode) == [
        "That passcode didn't match. Please try again. There is one more try before a pause.",
        "密码不正确。请再试一次。再错一次将暂停使用。",
      ])
    #expect(
      text(
        AttemptDecision(
          outcome: .lockedOut, laError: .authenticationFailed, nextFactors: [.biometry, .gesture, .deviceOwner],
          retryAfter: .seconds(300)), by: .passcode, .touchID) == [
          "To keep your account safe, your passcode is paused for now. "
            + "Try again in 5 minutes, or use Touch ID or draw your gesture.",
          "为保护你的账户安全\u{FF0C}密码已暂时停用。请在 5 分钟后重试\u{FF0C}或使用触控 ID 或绘制手势。",
        ])
    #expect(
      text(
        AttemptDecision(
          outcome: .factorRequired, laError: .biometryNotAvailable, nextFactors: [.passcode], domainState: .changed),
        by: .biometry, .opticID) == [
          "Optic ID has changed on this device since it was set up here. Please enter your passcode to continue.",
          "此设备上的 Optic ID 在上次设置之后有了变化。请输入密码以继续。",
        ])
    #expect(
      text(AttemptDecision(outcome: .fallback, laError: .userFallback, nextFactors: [.gesture, .passcode]), by: nil)
        == [
          "Please draw your gesture or enter your passcode to continue.", "请绘制手势或输入密码以继续。",
        ])
    #expect(
      text(
        AttemptDecision(outcome: .factorRequired, laError: .biometryLockout, nextFactors: [.deviceOwner]), by: .biometry
      )
        == [
          "Face ID is turned off here after several tries. Please use your device passcode to continue.",
          "多次尝试后\u{FF0C}面容 ID 已停用。请使用设备的锁屏密码以继续。",
        ])
    #expect(text(AttemptDecision(outcome: .succeeded, laError: nil), by: .biometry) == [])
  }

  // R20: no text promises that waiting ends a biometric lock, or another way where there is none.
  @Test func aLastTryIsToldOnlyBeforeALock() {
    func text(_ factor: Factor?, device: BiometryStanding? = nil) -> String? {
      let decision = AttemptDecision(
        outcome: .tryAgain, laError: .authenticationFailed, attemptsLeft: 1, device: device)
      return Message(decision, by: factor, biometry: .touchID, in: .english)?.text
    }
    let counted = BiometryStanding(consecutiveFailures: 4)
    #expect(
      text(.biometry, device: counted)
        == "Touch ID didn't recognize your finger. Please try again. There is one more try before Touch ID is turned off here."
    )
    // The evaluation ends after the next one, and nothing locks.
    #expect(text(.biometry) == "Touch ID didn't recognize your finger. Please try again.")
    #expect(text(.deviceOwner, device: counted) == "Your device couldn't confirm that it's you. Please try again.")
    #expect(text(.passkey) == "That passkey didn't match. Please try again.")
    var disabling = AttemptDecision(outcome: .tryAgain, laError: .authenticationFailed, attemptsLeft: 1)
    disabling.nextFailureDisables = true
    #expect(
      Message(disabling, by: .gesture, biometry: .touchID, in: .english)?.text
        == "That gesture didn't match. Please try again. There is one more try before it is turned off.")
    let locked = AttemptDecision(outcome: .lockedOut, laError: .biometryLockout)
    #expect(
      Message(locked, by: .biometry, biometry: .touchID, in: .english)?.text
        == "Touch ID is turned off here after several tries. Please sign in again.")
  }

  // R20: no message recommends a factor that it just named as unusable.
  @Test(arguments: Language.allCases) func whatDoesNotWorkIsNoWayOut(_ language: Language) {
    let sensor = language == .english ? "Touch ID" : "触控 ID"
    let all: [Factor] = [.biometry, .deviceOwner, .passcode]
    for outcome in [Outcome.failed, .lockedOut, .factorRequired] {
      for code in LAErrorCode.allCases {
        for verdict in [nil, .changed, .changedWithOS] as [DomainStateVerdict?] {
          for factor in [nil, .biometry] as [Factor?] {
            let decision = AttemptDecision(outcome: outcome, laError: code, nextFactors: all, domainState: verdict)
            let text = Message(decision, by: factor, biometry: .touchID, in: language)?.text ?? ""
            #expect(text.split(separator: sensor, omittingEmptySubsequences: false).count <= 2, "\(text)")
          }
        }
      }
    }
  }

  // R20, golden: the way that is left, or none.
  @Test func theWaysThatAreLeftAreNamed() {
    func text(_ code: LAErrorCode, _ next: [Factor], _ language: Language = .english) -> String? {
      let decision = AttemptDecision(outcome: .failed, laError: code, nextFactors: next)
      return Message(decision, by: nil, biometry: .touchID, in: language)?.text
    }
    #expect(
      text(.biometryNotAvailable, [.biometry, .passcode])
        == "Touch ID isn't available on this device right now. Please enter your passcode to continue.")
    #expect(
      text(.biometryNotAvailable, [.biometry])
        == "Touch ID isn't available on this device right now.")
    #expect(text(.biometryNotAvailable, [.biometry], .simplifiedChinese) == "此设备目前无法使用触控 ID。")
    #expect(
      text(.passcodeNotSet, [.biometry, .deviceOwner, .gesture])
        == "To use Touch ID, first turn on a passcode in this device's settings. Please draw your gesture to continue.")
    #expect(
      text(.passcodeNotSet, [.biometry, .deviceOwner, .gesture], .simplifiedChinese)
        == "要使用触控 ID，请先在此设备的“设置”中开启锁屏密码。请绘制手势以继续。")
    #expect(
      text(.companionNotAvailable, [.biometry])
        == "Your paired device is out of reach. Bring it closer to use it. Please use Touch ID to continue.")
  }

  // R18
  @Test func theDefaultFallbackTitleIsInTheLanguage() {
    #expect(Language.english.defaultFallbackTitle == "Enter Password")
    #expect(Language.simplifiedChinese.defaultFallbackTitle == "输入密码")
  }
}
