import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Unknown names, whose stand-ins happen to have the factors of a known profile (R37).
extension TestService {
  /// - Parameter secrets: the secrets that the stand-in has set; it prefers none.
  func unknownProfileID(with secrets: Set<Factor>) -> String {
    name { standIns, id in
      has(secrets, standIns.standing(of: record(ProfileRecord.standInID(forProfile: id)), hasSecret: true))
    }
  }

  /// The id's stand-in has a system from which a phone with this one only shows that its fingers changed.
  ///
  /// Nothing is proven of its keys, as of those that the tests bind.
  ///
  /// - Parameter keys: a key of the current fingers unless given; none: it is bound by a ProfileTouchID.
  func unknownBindingID(
    _ prefix: String = "nobody", of family: PlatformFamily = .iOS, by keys: KeyProtections = [.biometryCurrentSet],
    with secrets: Set<Factor> = [], on osMajorVersion: UInt32 = 17
  ) -> String {
    name(prefix) { standIns, id in
      let binding = standIns.standing(ofUnknownBinding: id, in: Self.applicationID)
      return binding.keyProtections == keys && binding.provenKeys == ProvenKeys() && binding.platformFamily == family
        && binding.baseline.map { $0.osMajorVersion >= osMajorVersion } != false
        && has(
          secrets, standIns.standing(of: record(ProfileRecord.standInID(forUnknownBinding: id)), hasSecret: false))
    }
  }

  private func name(_ prefix: String = "nobody", where isFitting: (StandIns, String) -> Bool) -> String {
    let standIns = StandIns(pepper: keys.pepper)
    let names = (0..<10_000).lazy.map { "\(prefix) \($0)" }
    guard let name = names.first(where: { isFitting(standIns, $0) }) else {
      preconditionFailure("ten thousand dice, and never a six")
    }
    return name
  }

  private func record(_ profileID: String) -> ProfileRecord {
    ProfileRecord(applicationID: Self.applicationID, profileID: profileID)
  }

  private func has(_ secrets: Set<Factor>, _ profile: ProfileStanding) -> Bool {
    profile.settings.isBiometryEnabled && profile.settings.preferred == nil
      && profile.passcode.isSet == secrets.contains(.passcode) && profile.gesture.isSet == secrets.contains(.gesture)
  }
}
