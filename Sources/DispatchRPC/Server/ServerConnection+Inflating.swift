// Compressed requests: inflated when it is their turn, one at a time, so that they cost their size only while a handler has them.

extension ServerConnection {
  /// What a connection may inflate before the others get their turn: some milliseconds' worth. A kilobyte can be a megabyte.
  private static let inflatedBytesPerTurn = 1 << 20

  var hasInflatedEnough: Bool { inflatedBytes >= Self.inflatedBytesPerTurn }

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
      try message.inflate(with: shard.gzip, limit: server.configuration.maxRequestMessageBytes)
    } catch {
      if error == .tooLarge { noteInflated(server.configuration.maxRequestMessageBytes) }
      throw error
    }
    noteInflated(message.message.count)
  }

  private func noteInflated(_ count: Int) {
    let hadEnough = hasInflatedEnough
    inflatedBytes += count
    guard hasInflatedEnough, !hadEnough else { return }
    let connection = ShardConfined(self)
    shard.execute {
      connection.value.inflatedBytes = 0
      connection.value.dispatchReady()
    }
  }
}
