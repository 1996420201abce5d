// How long a command waits for an answer, as touchstone-load's option has it.

internal import ArgumentParser
internal import TouchstonePolicy

/// "10s", "1m"; a number alone counts seconds.
struct WaitingTime: ExpressibleByArgument {
  var value: Duration

  var defaultValueDescription: String { value.settingName }

  init(value: Duration) {
    self.value = value
  }

  init?(argument: String) {
    guard let value = Duration(settingName: argument) ?? Duration(settingName: argument + "s") else { return nil }
    self.value = value
  }

  func requireAtMost(_ limit: Duration) throws(ValidationError) {
    guard (.seconds(1)...limit).contains(value) else {
      throw ValidationError("--timeout must be from 1s to \(limit.settingName)")
    }
  }
}
