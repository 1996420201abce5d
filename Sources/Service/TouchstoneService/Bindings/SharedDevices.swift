// Finds device ids that many phones have, because the app or the system gave each of them the same one. Pure.

internal import TouchstonePolicy

/// Counts the profiles that each device id of an application was bound to, as this process saw it: it forgets at its end, and each
/// replica counts by itself. A store query at each binding would cost more than a warning is worth.
struct SharedDevices {
  /// A phone that a family, a ward or a shop hands around.
  static let maximumProfiles = 8
  static let window = Duration.seconds(30 * 86_400)
  /// Device ids of one generation, some 150 bytes each. An id that is bound once among so many others is never forgotten: whatever
  /// comes again moves into the newest generation, and there are two.
  static let generationSize = 8_192

  private struct Entry {
    /// By when they were bound last, the latest at the end; one more than `maximumProfiles` at most.
    var profiles: [(name: NameHash, boundAt: UnixTime)] = []
    /// When it was told of last.
    var toldAt: UnixTime?
  }

  private var recent: [NameHash: Entry] = [:]
  private var earlier: [NameHash: Entry] = [:]

  var count: Int { recent.count + earlier.count }

  /// Returns whether the binding is the first in 30 days by which its device id has too many profiles.
  func isNews(deviceID: String, profileID: String, of applicationID: String, at now: UnixTime) -> Bool {
    isNews(entry(NameHash(applicationID, deviceID), NameHash(applicationID, profileID), at: now), at: now)
  }

  /// Counts a binding. Returns the same.
  mutating func note(deviceID: String, profileID: String, of applicationID: String, at now: UnixTime) -> Bool {
    let device = NameHash(applicationID, deviceID)
    var entry = entry(device, NameHash(applicationID, profileID), at: now)
    let isNews = isNews(entry, at: now)
    if isNews { entry.toldAt = now }
    if recent[device] == nil, recent.count >= Self.generationSize { (earlier, recent) = (recent, [:]) }
    earlier[device] = nil
    recent[device] = entry
    return isNews
  }

  private func isNews(_ entry: Entry, at now: UnixTime) -> Bool {
    guard entry.profiles.count > Self.maximumProfiles else { return false }
    return entry.toldAt.map { $0 + Self.window <= now } ?? true
  }

  /// As it is with this binding.
  private func entry(_ device: NameHash, _ profile: NameHash, at now: UnixTime) -> Entry {
    var entry = recent[device] ?? earlier[device] ?? Entry()
    entry.profiles.removeAll { $0.name == profile || $0.boundAt + Self.window <= now }
    entry.profiles.removeFirst(max(0, entry.profiles.count - Self.maximumProfiles))
    entry.profiles.append((profile, now))
    return entry
  }
}
