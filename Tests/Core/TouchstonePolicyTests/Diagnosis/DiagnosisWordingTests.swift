import Testing

@testable import TouchstonePolicy

/// The sentences for support staff. Tests/DecisionTables/Diagnosis.md has the situations.
struct DiagnosisWordingTests {
  private func texts(_ diagnosis: LoginDiagnosis) -> [String] {
    [Language.english, .simplifiedChinese].map { diagnosis.text(in: $0) { "time \($0.seconds)" } }
  }

  @Test func eachFactOfADiagnosisIsSaid() {
    #expect(
      texts(LoginDiagnosis(answer: .yes, factors: [.gesture, .passcode])) == [
        "A login can succeed now, by gesture or passcode.", "现在可以登录，方式：手势、数字密码。",
      ])
    #expect(
      texts(LoginDiagnosis(answer: .yes, factors: [.biometry], reportedAt: UnixTime(seconds: 5))) == [
        "A login can succeed now, by biometrics, if the device is as it reported at time 5.",
        "如设备仍与 time 5 上报时一致，现在可以登录，方式：生物识别。",
      ])
    #expect(
      texts(
        LoginDiagnosis(
          answer: .yes, factors: [.passcode],
          obstacles: [
            LoginObstacle(
              factors: [.biometry], cause: .domainStateChanged, since: UnixTime(seconds: 7),
              remedies: [.logInByPasscode, .acceptDomainState])
          ])) == [
          "A login can succeed now, by passcode. Biometrics: the device's fingers or faces are not those that the service has "
            + "accepted (as it reported at time 7). What helps: one login by passcode on this device or the "
            + "application's own login, after which it accepts the present fingers or faces.",
          "现在可以登录，方式：数字密码。生物识别：设备上的指纹或面容与本服务认可的不同（设备于 time 7 上报）。"
            + "解决办法：在此设备上用数字密码登录一次、用应用自己的登录方式登录后，由应用认可现有的指纹或面容。",
        ])
    #expect(
      texts(
        LoginDiagnosis(
          answer: .no,
          obstacles: [
            LoginObstacle(
              factors: [.passcode], cause: .passcodeLocked, until: UnixTime(seconds: 9),
              remedies: [.wait, .unlockSecret])
          ])) == [
          "No login can succeed now. Passcode: locked after wrong attempts, until time 60. What helps: waiting or an unlock by support.",
          "现在无法登录。数字密码：多次输错，已锁定，至 time 60。解决办法：等待、客服解锁。",
        ])
    #expect(
      texts(LoginDiagnosis(answer: .no, obstacles: [LoginObstacle(factors: [], cause: .bindingRevoked)]))[0]
        == "No login can succeed now. The binding of this device is revoked.")
    #expect(texts(LoginDiagnosis(answer: .unknown))[0] == "It is unknown whether a login can succeed now.")
  }

  @Test(arguments: LoginObstacle.Cause.allCases) func everyCauseHasWordsInEachLanguage(_ cause: LoginObstacle.Cause) {
    for language in Language.allCases {
      let text = cause.text(in: language)
      #expect(!text.isEmpty && !text.contains(cause.rawValue) && !text.hasSuffix(".") && !text.hasSuffix("。"))
    }
  }

  @Test func everyRemedyHasWordsOfItsOwn() {
    for language in Language.allCases {
      let said = LoginObstacle.Remedy.allCases.map { remedy in
        LoginDiagnosis(
          answer: .no, obstacles: [LoginObstacle(factors: [], cause: .notSeen, remedies: [remedy])]
        ).text(in: language) { _ in "" }
      }
      #expect(Set(said).count == said.count)
    }
  }

  /// A cause that a denial has, too, has its name, so that logs and diagnoses can be compared.
  @Test(arguments: Denial.Reason.allCases) func everyDenialIsACause(_ reason: Denial.Reason) {
    #expect((LoginObstacle.Cause(rawValue: reason.rawValue) == nil) == (reason == .factorNotOffered))
  }
}
