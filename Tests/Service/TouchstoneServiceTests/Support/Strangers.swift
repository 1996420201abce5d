import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Unknown names that happen to show the factors of a known profile (R37).
extension TestService {
  /// - Parameter secrets: the secrets that the name shows as set; it shows no preference.
  func unknownProfileID(with secrets: Set<Factor>) -> String {
    let unknownNames = UnknownNames(pepper: keys.pepper)
    let ids = (0..<10_000).lazy.map { "nobody \($0)" }
    let id = ids.first { id in
      let looks = unknownNames.looks(of: ProfileRecord(applicationID: Self.applicationID, profileID: id))
      return looks.settings.isBiometryEnabled && looks.settings.preferred == nil
        && looks.passcode.isSet == secrets.contains(.passcode) && looks.gesture.isSet == secrets.contains(.gesture)
    }
    guard let id else { preconditionFailure("ten thousand dice, and never a six") }
    return id
  }
}
