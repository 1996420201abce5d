// The responses of one stream: as many and as large as its requests say, no faster than they say or the client takes
// them.

import Dispatch
import DispatchRPC
import InteropSupport

/// Confined to its call's event loop. Takes the stream with each call rather than keep it, as the stream keeps this.
final class ResponseSequence: @unchecked Sendable {
  private let trailer: Metadata
  private let isHeld: Bool
  private let onEmpty: (RPCServerStream) -> Void

  private var waiting: ArraySlice<ResponseParameters> = []
  /// The first's interval has begun, or has passed.
  private var pause = Pause.notBegun
  private var isEnded = false

  private enum Pause {
    case notBegun, running, over
  }

  /// - Parameter isHeld: until the client has ended.
  /// - Parameter onEmpty: all that was asked for is sent, and there may be more to come.
  init(trailer: Metadata, isHeld: Bool = false, onEmpty: @escaping (RPCServerStream) -> Void = { _ in }) {
    self.trailer = trailer
    self.isHeld = isHeld
    self.onEmpty = onEmpty
  }

  func take(_ bytes: UnsafeRawBufferPointer, on stream: RPCServerStream) {
    do throws(RPCError) {
      let request: StreamingOutputCallRequest = try TestServiceHandlers.decode(bytes)
      if let status = request.responseStatus { throw RPCError(echoing: status, trailing: trailer) }
      waiting.append(contentsOf: request.responseParameters)
      if !isHeld { sendMore(on: stream) }
    } catch {
      stream.fail(error)
    }
  }

  /// After the responses that wait.
  func finish(on stream: RPCServerStream) {
    isEnded = true
    sendMore(on: stream)
  }

  func sendMore(on stream: RPCServerStream) {
    guard isEnded || !isHeld else { return }
    while let next = waiting.first {
      guard stream.isWritable, hasPaused(before: next, on: stream) else { return }
      waiting.removeFirst()
      pause = .notBegun
      guard send(next, on: stream) else { return }
    }
    if isEnded {
      stream.finish(trailingMetadata: trailer)
    } else {
      onEmpty(stream)
    }
  }

  private func send(_ parameters: ResponseParameters, on stream: RPCServerStream) -> Bool {
    do throws(RPCError) {
      var response = StreamingOutputCallResponse()
      response.payload = try Payload(ofSize: parameters.size)
      stream.send(response.encoded())
      return true
    } catch {
      stream.fail(error)
      return false
    }
  }

  /// False while the interval runs; `sendMore` follows.
  private func hasPaused(before next: ResponseParameters, on stream: RPCServerStream) -> Bool {
    guard next.intervalMicroseconds > 0, pause != .over else { return true }
    guard pause == .notBegun else { return false }
    pause = .running
    DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(Int(next.intervalMicroseconds))) {
      stream.loop.execute {
        self.pause = .over
        self.sendMore(on: stream)
      }
    }
    return false
  }
}
