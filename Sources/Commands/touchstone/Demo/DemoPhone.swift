internal import SimulatedPhone
internal import TouchstoneClient

/// A phone with one app on it, which turns the person's actions into requests.
struct DemoPhone {
  static let thumb = "right thumb"
  static let passcode = "2580"

  let phone = SimulatedPhone(passcode: Self.passcode, enrolled: [Self.thumb])
  let application: String
  let deviceID: String

  var posture: V1.DevicePosture {
    let report = phone.report(for: application)
    return V1.DevicePosture(
      platform: report.platform, osVersion: report.osVersion, deviceModel: report.deviceModel,
      biometryType: report.biometryType == .faceID ? .faceID : .touchID,
      biometryAvailable: report.isBiometryAvailable, biometryEnrolled: report.isBiometryEnrolled,
      biometryLockedOut: report.isBiometryLockedOut, passcodeSet: report.isPasscodeSet,
      domainState: report.domainState)
  }

  /// Makes a new key of the app.
  func makeKey(_ protection: SimulatedPhone.KeyProtection) throws(WrongAnswer) -> SimulatedPhone.Key {
    do throws(SimulatedPhone.Failure) {
      return try phone.makeKey(protection: protection, application: application)
    } catch {
      throw WrongAnswer(message: "the phone to make a key, not \(error)")
    }
  }

  /// Returns the app's attempt: the key's proof, or the phone's report that there is none.
  func attempt(
    _ input: [UInt8], with key: SimulatedPhone.Key, presenting presentation: SimulatedPhone.Presentation
  ) throws(WrongAnswer) -> V1.SubmitAttemptRequest.Attempt {
    do throws(SimulatedPhone.SigningError) {
      let signature = try phone.sign(input, with: key, presenting: presentation)
      let factor: V1.Factor = key.accessControl.factors.contains(.biometry) ? .biometry : .deviceOwner
      return .key(V1.KeyProof(signature: signature, factor: factor))
    } catch {
      switch error {
      case .notAuthenticated(let failure):
        return .report(V1.DeviceReport(laError: V1.LAError(rawValue: Int32(failure.rawValue))))
      case .keyNotFound:
        throw WrongAnswer(message: "the phone to have the key still")
      }
    }
  }

  func isAlive(_ key: SimulatedPhone.Key) -> Bool {
    do throws(SimulatedPhone.SigningError) {
      _ = try phone.sign([0], with: key, presenting: .finger(Self.thumb))
      return true
    } catch {
      return error != .keyNotFound
    }
  }
}
