// One call to a simulated process, from its sending to its one answer.

import DispatchRPC
import StoreModel
import TouchstoneService

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class Call: IncomingCall, @unchecked Sendable {
  enum Ending {
    case answered([UInt8])
    case failed(RPCError)
    /// The process died.
    case lost
  }

  /// In the trace.
  let number: Int
  /// "TokenService/ConsumeToken".
  let method: String
  let message: [UInt8]
  let language: String?
  /// The request that was sent, if the bytes are a request at all.
  let request: (any Request)?
  /// Its bytes are not those that the caller intended.
  let isGarbled: Bool
  let life: Life
  let loop: SimulatedEventLoop
  /// As things stood when it was sent; `nil`: something else was under way, so that they may stand otherwise.
  private(set) var before: StoredRecords?
  let sentStep: Int
  /// When an event loop took it up; `nil`: not yet.
  var dispatchedStep: Int?
  private(set) var isCancelled = false
  private(set) var isEnded = false
  private let onEnd: (Call, Ending) -> Void

  init(
    number: Int, method: String, message: [UInt8], language: String?, request: (any Request)?, isGarbled: Bool,
    life: Life, loop: SimulatedEventLoop, before: StoredRecords?, sentStep: Int,
    onEnd: @escaping (Call, Ending) -> Void
  ) {
    self.number = number
    self.method = method
    self.message = message
    self.language = language
    self.request = request
    self.isGarbled = isGarbled
    self.life = life
    self.loop = loop
    self.before = before
    self.sentStep = sentStep
    self.onEnd = onEnd
  }

  /// As local as can be.
  static let peer = RPCPeer(address: (try? SocketAddress.unix(path: "/simulation"))!)

  var peer: RPCPeer { Self.peer }
  var path: String { "/touchstone.v1.\(method)" }
  func metadata(_ name: String) -> String? { name == "accept-language" ? language : nil }

  func respond(_ message: [UInt8], initialMetadata: Metadata) { end(.answered(message)) }
  func fail(_ error: RPCError) { end(.failed(error)) }
  func lose() { end(.lost) }

  /// Something else happens beside it.
  func disturb() { before = nil }

  /// The caller goes away. The service may still do the requested work.
  func cancel() { isCancelled = true }

  private func end(_ ending: Ending) {
    onEnd(self, ending)
    isEnded = true
  }
}
