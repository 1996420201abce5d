// The streams of a connection from their first header to their last byte.

extension ServerConnection {
  func streamOpened(_ id: Int32) {
    guard openStreamCount < server.configuration.maxConcurrentStreams, !isCertificateOver else {
      refuseStream(id)
      return
    }
    openStreamCount += 1
    let stream = server.streams.take(id: id, now: shard.now)
    stream.pointee.next = firstStream
    firstStream?.pointee.previous = stream
    firstStream = stream
    openingStream = stream
    session.setUserData(stream, ofStream: id)
    watchStreams()
  }

  /// The stream has no state of ours: the rest of its frames is decoded and passed over. REFUSED_STREAM tells the client that the
  /// call was not looked at, so that it may send it again (RFC 9113 §8.7).
  private func refuseStream(_ id: Int32) {
    session.submitReset(.refusedStream, stream: id)
    record(.refusedStream)
  }

  /// nghttp2 no longer knows it.
  func close(_ stream: Stream, _ reason: RPCCancellation) {
    if let call = stream.pointee.call {
      call.cancel(reason)
      call.detach()
      stream.pointee.call = nil
    }
    if let timer = stream.pointee.timer { shard.cancelTimer(timer) }
    responseBytesChanged(by: -stream.pointee.response.messageBytes)
    stream.pointee.streaming?.streamClosed()
    dropRequest(stream)
    unlink(stream)
    if openingStream == stream { openingStream = nil }
    if isInReadyList(stream) {
      stream.pointee.isClosed = true
    } else {
      server.streams.put(stream)
    }
  }

  private func unlink(_ stream: Stream) {
    openStreamCount -= 1
    if let previous = stream.pointee.previous {
      previous.pointee.next = stream.pointee.next
    } else {
      firstStream = stream.pointee.next
    }
    stream.pointee.next?.pointee.previous = stream.pointee.previous
    stream.pointee.next = nil
    stream.pointee.previous = nil
    if firstStream == nil { idleSince = shard.now }
  }

  /// The call has it now, or nobody wants it any more.
  func dropMetadata(_ stream: Stream) {
    metadataBytesChanged(by: -stream.pointee.metadataBytes)
    stream.pointee.metadataBytes = 0
    stream.pointee.head.dropMetadata()
  }

  /// What was received of a request that nobody will answer any more.
  func dropRequest(_ stream: Stream) {
    dropMetadata(stream)
    requestBytesChanged(by: -stream.pointee.request.message.count)
    stream.pointee.request.reset()
  }
}
