// Compressed requests: inflated when it is their turn, one at a time, so that they cost their size only while a handler
// has them.

extension ServerConnection {
  /// False when it is refused.
  func inflateRequest(_ stream: Stream) -> Bool {
    guard stream.pointee.request.isCompressed else { return true }
    let before = stream.pointee.request.message.count
    do throws(Gzip.Fault) {
      try inflate(&stream.pointee.request)
    } catch {
      refuse(stream, error)
      return false
    }
    requestBytesChanged(by: stream.pointee.request.message.count - before)
    return true
  }

  func inflate(_ message: inout MessageDeframer) throws(Gzip.Fault) {
    do throws(Gzip.Fault) {
      try message.inflate(with: buffers.gzip, limit: server.configuration.maxRequestMessageBytes)
    } catch {
      if error == .tooLarge { noteInflated(server.configuration.maxRequestMessageBytes) }
      throw error
    }
    noteInflated(message.message.count)
  }

  private func noteInflated(_ count: Int) {
    guard inflation.use(count) else { return }
    LoopConfined(self, on: loop).execute {
      $0.inflation.renew()
      $0.dispatchReady()
    }
  }
}

/// How much a connection may inflate before the others get their turn. Pure.
struct InflationBudget {
  /// Some milliseconds' worth: a kilobyte can be a megabyte.
  private static let limitBytes = 1 << 20

  private var usedBytes = 0

  var isUsedUp: Bool { usedBytes >= Self.limitBytes }

  /// True when this has used it up.
  mutating func use(_ count: Int) -> Bool {
    let wasUsedUp = isUsedUp
    usedBytes += count
    return isUsedUp && !wasUsedUp
  }

  mutating func renew() {
    usedBytes = 0
  }
}
