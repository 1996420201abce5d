// The deadlines of a connection's calls.

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
