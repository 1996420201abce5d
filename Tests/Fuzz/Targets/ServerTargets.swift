// The server's end of a connection: any bytes, and dialogues of frames that mostly make sense.

@testable import DispatchRPC

extension FuzzTarget {
  /// The first byte is the transport's mood; the preface is ours.
  static let serverBytes = FuzzTarget("server-bytes", maximumBytes: 8 << 10) { input in
    var input = ByteReader(input)
    FuzzServer.shared.run(mood: input.byte()) { connection in
      connection.feed(Dialogue.preface + input.remainder())
    }
  }

  /// Frames as `Dialogue` reads them, and handlers that act in between.
  static let serverDialogue = FuzzTarget("server-dialogue", maximumBytes: 2 << 10) { input in
    var input = ByteReader(input)
    FuzzServer.shared.run(mood: input.byte()) { connection in
      var dialogue = Dialogue()
      connection.feed(Dialogue.preface)
      while !input.isEmpty {
        switch input.byte() {
        case let kind where kind < 0xE0:
          dialogue.addFrame(kind, &input)
        case 0xE0..<0xE8:
          connection.feed(dialogue.takeFrames())
        case let action:
          connection.feed(dialogue.takeFrames())
          act(action, &input, connection)
        }
      }
      connection.feed(dialogue.takeFrames())
    }
  }

  /// Performs an action that a handler, or the server, may take at any time.
  private static func act(_ action: UInt8, _ input: inout ByteReader, _ connection: FuzzServer.Connection) {
    let call = connection.heldCall(Int(input.byte()))
    let amount = Int(input.byte())
    connection.onLoop { connection in
      switch action {
      case 0xE8: connection.drain()
      case 0xE9: (call as? RPCServerStream)?.request(amount + 1)
      case 0xEA: (call as? RPCServerStream)?.send([UInt8](repeating: 0, count: amount * 40))
      case 0xEB: (call as? RPCServerStream)?.finish()
      case 0xEC: (call as? RPCServerStream)?.fail(RPCError(code: .dataLoss, message: ""))
      case 0xED: (call as? RPCServerStream)?.sendInitialMetadata([("a", "b")])
      case 0xEE: (call as? RPCServerCall)?.respond([UInt8](repeating: 0, count: amount * 40))
      case 0xEF: (call as? RPCServerCall)?.fail(RPCError(code: .ok, message: String(repeating: "%", count: amount)))
      case 0xF0: connection.close(after: .zero)
      case 0xF1: connection.timerExpired(TimerTag(kind: ServerConnection.TimerKind.life))
      case 0xF2: connection.pingAcknowledged(ServerConnection.drainPing)
      case 0xF3:
        connection.timerExpired(
          TimerTag(kind: ServerConnection.TimerKind.streamDeadline, id: Int32(amount) * 2 + 1))
      default: break
      }
    }
  }
}
