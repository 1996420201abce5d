// Finds device ids that many phones have, because the app or the system gave each of them the same one. Pure.

internal import TouchstonePolicy

/// Counts the profiles that each device id of an application was bound to. Each process counts the bindings that it
/// completed since its start. A store query at each binding would cost more than the warning is worth.
struct SharedDevices {
  /// A family, a hospital ward or a shop may share one phone among so many profiles.
  static let maximumProfiles = 8
  static let window = Duration.seconds(30 * 86_400)
  /// The number of device ids in a generation, some 150 bytes each. There are two generations, and an id that is bound
  /// again moves into the newer one. So an id is forgotten only after bindings of at least so many other ids.
  static let generationSize = 8_192

  private struct Entry {
    /// In the order of their last bindings, the latest at the end. At most one more than `maximumProfiles`.
    var profiles: [(name: NameHash, boundAt: UnixTime)] = []
    /// The time of the last warning.
    var warnedAt: UnixTime?
  }

  private var recent: [NameHash: Entry] = [:]
  private var earlier: [NameHash: Entry] = [:]

  var count: Int { recent.count + earlier.count }

  /// Returns whether the binding is a reason to warn: its device id has too many profiles, and there was no warning
  /// about it within 30 days.
  func isNews(deviceID: String, profileID: String, of applicationID: String, at now: UnixTime) -> Bool {
    isNews(entry(NameHash(applicationID, deviceID), NameHash(applicationID, profileID), at: now), at: now)
  }

  /// Counts a binding. Returns whether it is a reason to warn.
  mutating func note(deviceID: String, profileID: String, of applicationID: String, at now: UnixTime) -> Bool {
    let device = NameHash(applicationID, deviceID)
    var entry = entry(device, NameHash(applicationID, profileID), at: now)
    let isNews = isNews(entry, at: now)
    if isNews { entry.warnedAt = now }
    if recent[device] == nil, recent.count >= Self.generationSize { (earlier, recent) = (recent, [:]) }
    earlier[device] = nil
    recent[device] = entry
    return isNews
  }

  private func isNews(_ entry: Entry, at now: UnixTime) -> Bool {
    guard entry.profiles.count > Self.maximumProfiles else { return false }
    return entry.warnedAt.map { $0 + Self.window <= now } ?? true
  }

  /// Returns the device's entry with this binding added.
  private func entry(_ device: NameHash, _ profile: NameHash, at now: UnixTime) -> Entry {
    var entry = recent[device] ?? earlier[device] ?? Entry()
    entry.profiles.removeAll { $0.name == profile || $0.boundAt + Self.window <= now }
    entry.profiles.removeFirst(max(0, entry.profiles.count - Self.maximumProfiles))
    entry.profiles.append((profile, now))
    return entry
  }
}
