// The rules for application ids: in requests, and in a configuration's callers and vendors.

internal import TouchstoneCrypto
internal import TouchstonePolicy

public enum ApplicationID {
  /// Returns what is wrong with the id, in words that follow the field's name ("is empty"); `nil` if nothing is.
  public static func violation(in id: String) -> String? {
    Identifier.violation(in: id) ?? TokenUse.violation(inApplicationID: id)
  }
}
