// Identifies the settings under which an evaluation began (R36).

extension EvaluationPolicy {
  /// Differs for different settings in force, and is the same on every replica and after every restart with the same
  /// ones.
  ///
  /// FNV-1a (RFC 9923), 64 bits, over the name, the purpose, the factors, and each setting that has not its default, by
  /// its key, as `policy show` prints it. So an update that brings a setting leaves the revisions of existing policies
  /// as they are. The hash only has to notice a change, because the operator is no attacker.
  public var revision: UInt64 {
    var defaults = EvaluationPolicy(defaultsFor: purpose)
    defaults.factors = factors
    var words = [name, purpose.settingName] + factors.map(\.settingName)
    for setting in PolicySetting.all.sorted(by: { $0.key < $1.key }) {
      let printed = setting.printed(of: self)?.words
      if printed != setting.printed(of: defaults)?.words { words += [setting.key] + (printed ?? []) }
    }
    // No text in UTF-8 has the byte that separates the words.
    return words.lazy.flatMap { Array($0.utf8) + [0xFF] }.reduce(0xcbf2_9ce4_8422_2325) { hash, byte in
      (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
  }
}
