// Watches how old the roots and lists are by which proofs of keys are judged (R45).

internal import Dispatch
internal import Logging
internal import Synchronization
internal import TouchstonePolicy
internal import TouchstoneService
internal import TouchstoneStore

/// Trust data that is too old is an error in the log and an event, and is no failure of the service: logins need none
/// of it.
final class TrustWatching: Sendable {
  /// Ages count in days.
  private static let interval = Duration.seconds(60)

  private let store: any Store
  private let clock: ServiceEnvironment.Clock
  private let logger: Logger
  private let alarm: Mutex<TrustAlarm>
  private let repeating = Repeating(every: interval, label: "trust-watcher")

  init(_ trust: AttestationTrust, store: any Store, clock: @escaping ServiceEnvironment.Clock, logger: Logger) {
    self.store = store
    self.clock = clock
    self.logger = logger
    alarm = Mutex(TrustAlarm(trust))
    repeating.begin(atOnce: true) { [weak self] in self?.check() }
  }

  func cancel() {
    repeating.cancel()
  }

  /// When the files in force were written.
  var dates: [TrustDate] { alarm.withLock { $0.dates } }

  /// Another configuration was read, and its files with it.
  func replace(_ trust: AttestationTrust) {
    repeating.queue.async {
      self.alarm.withLock { $0.replace(trust) }
      self.check()
    }
  }

  private func check() {
    let now = clock()
    for step in alarm.withLock({ $0.checked(at: now) }) {
      switch step {
      case .tooOld(let date, let isRefused, let isNew):
        logger.error(
          """
          trust data is too old: renew the file\(isRefused ? "; until then no attested key is bound" : "")
          """,
          metadata: [
            "setting": "\(date.setting)", "\(date.originName)": "\(date.age(at: now))", "maximum_age": "\(date.limit)",
          ])
        if isNew {
          store.append(.trustTooOld(date, isRefused: isRefused, at: now)) { [self] _ in
            alarm.withLock { $0.notTold(date.setting) }
          }
        }
      case .renewed(let setting):
        logger.notice("trust data is recent again", metadata: ["setting": "\(setting)"])
      }
    }
  }
}

/// When to say of which trust data that it is too old. Pure.
struct TrustAlarm: Sendable {
  enum Step: Sendable, Hashable {
    /// `isNew`: it is an event, too.
    case tooOld(TrustDate, isRefused: Bool, isNew: Bool)
    case renewed(setting: String)
  }

  /// Often enough for an operator that reads the log.
  static let reminderInterval = Duration.seconds(86_400)

  private(set) var dates: [TrustDate]
  private var refuses: Bool
  /// By setting.
  private var alarms: [String: Alarm] = [:]

  init(_ trust: AttestationTrust) {
    (dates, refuses) = (trust.allDates, trust.refusesWhenTooOld)
  }

  mutating func replace(_ trust: AttestationTrust) {
    (dates, refuses) = (trust.allDates, trust.refusesWhenTooOld)
  }

  mutating func checked(at now: UnixTime) -> [Step] {
    let old = dates.filter { $0.isTooOld(at: now) }
    let renewed = alarms.keys.filter { setting in !old.contains { $0.setting == setting } }.sorted()
    for setting in renewed { alarms[setting] = nil }
    return renewed.map { .renewed(setting: $0) }
      + old.compactMap { date in
        alarms[date.setting, default: Alarm(reminderInterval: Self.reminderInterval)].failed(at: now)
          .map { .tooOld(date, isRefused: refuses, isNew: $0.isNew) }
      }
  }

  /// The event could not be appended: the next check tries again.
  mutating func notTold(_ setting: String) {
    alarms[setting]?.notTold()
  }
}

extension TrustDate {
  fileprivate var originName: String {
    switch origin {
    case .written: "written"
    case .due: "next_update"
    }
  }

  fileprivate var eventKey: String {
    switch origin {
    case .written: "written_at"
    case .due: "next_update"
    }
  }

  fileprivate func age(at now: UnixTime) -> String {
    let seconds = now.seconds - time.seconds
    return seconds < 0 ? "in the future" : "\(Duration.seconds(seconds - seconds % 3_600).settingName) ago"
  }

  fileprivate var limit: String { maximumAge.settingName }
}

extension EventDraft {
  fileprivate static func trustTooOld(_ date: TrustDate, isRefused: Bool, at now: UnixTime) -> EventDraft {
    .ofOperator(
      "trust.too_old", at: now,
      [
        "setting": date.setting, date.eventKey: "\(date.time.seconds)", "maximum_age": date.limit,
        "attested_bindings": isRefused ? "refused" : "accepted",
      ])
  }
}
