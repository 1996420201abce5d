// The services' logs for their operators: read line by line, because no secret may stand in them (R41).

import Logging

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
struct WatchedLog: LogHandler, @unchecked Sendable {
  var metadata = Logger.Metadata()
  var logLevel = Logger.Level.trace
  private unowned let world: World

  init(world: World) {
    self.world = world
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let line = "\(event.message) \(event.metadata ?? [:])"
    let isTold = Names.passcodes.contains { line.contains($0) } || line.contains("fingers [") || line.contains("eyJ")
    world.require(!isTold, "R41", "a log line tells a secret: \(line)")
  }
}
