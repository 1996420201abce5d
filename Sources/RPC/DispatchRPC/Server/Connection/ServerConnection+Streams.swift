// The streams of a connection from their first header to their last byte.

extension ServerConnection {
  func streamOpened(_ id: Int32) {
    guard streams.count < server.configuration.maxConcurrentStreams, life.takesStreams else {
      refuseStream(id)
      return
    }
    let stream = server.streams.take(id: id, now: loop.now)
    streams.add(stream)
    session.setUserData(stream, ofStream: id)
    if life.streamOpened(at: loop.now) { reviewLife() }
  }

  /// The stream has no state of ours: the rest of its frames is decoded and passed over. REFUSED_STREAM tells the
  /// client that the call was not looked at, so that it may send it again (RFC 9113 §8.7).
  private func refuseStream(_ id: Int32) {
    session.submitReset(.refusedStream, stream: id)
    record(.refusedStream)
  }

  /// nghttp2 no longer knows it.
  func close(_ stream: Stream, _ reason: RPCCancellation) {
    observeEnd(stream, .cancelled)
    if let call = stream.pointee.call {
      call.cancel(reason)
      call.detach()
      stream.pointee.call = nil
    }
    if let timer = stream.pointee.timer { loop.cancelTimer(timer) }
    responseBytesChanged(by: -stream.pointee.response.messageBytes)
    stream.pointee.streaming?.streamClosed()
    dropRequest(stream)
    streams.remove(stream)
    if streams.isEmpty { life.lastStreamClosed(at: loop.now) }
    if ready.contains(stream) {
      stream.pointee.isClosed = true
    } else {
      server.streams.put(stream)
    }
  }

  /// The call has it now, or has ended.
  func dropMetadata(_ stream: Stream) {
    metadataBytesChanged(by: -stream.pointee.metadataBytes)
    stream.pointee.metadataBytes = 0
    stream.pointee.head.dropMetadata()
  }

  /// For a request that no handler will answer any more.
  func dropRequest(_ stream: Stream) {
    dropMetadata(stream)
    requestBytesChanged(by: -stream.pointee.request.message.count)
    stream.pointee.request.reset()
  }
}

extension ServerConnection {
  func setDeadline(_ stream: Stream) {
    guard let timeout = stream.pointee.head.timeout else { return }
    let deadline = loop.now.advanced(by: .nanoseconds(Int64(clamping: timeout)))
    stream.pointee.deadline = deadline
    stream.pointee.timer = setStreamTimer(TimerKind.streamDeadline, stream: stream.pointee.id, at: deadline)
  }

  func deadlinePassed(stream id: Int32) {
    guard let pointer = session.userData(ofStream: id) else { return }
    let stream = pointer.assumingMemoryBound(to: ServerStream.self)
    stream.pointee.timer = nil
    switch stream.pointee.phase {
    case .receiving, .ready:
      refuse(stream, .deadlineExceeded, "the deadline passed before the request was complete")
    case .running:
      guard let call = stream.pointee.call, call.expire(.deadline) else { return }
      if let streaming = stream.pointee.streaming {
        streaming.cut(.deadlineExceeded, "the deadline passed")
      } else {
        call.detach()
        sendStatus(.deadlineExceeded, "the deadline passed", on: stream)
      }
    case .answered:
      // An answer of this round leaves first: it is on time.
      if writeIsDue { write() }
      guard isOpen, session.userData(ofStream: id) != nil else { return }
      session.submitReset(.cancel, stream: id)
      scheduleWrite()
    }
  }
}
