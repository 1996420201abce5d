// The values that a server's connection is made of, each alone.

import Testing

@testable import DispatchRPC

@Suite struct ServerStreamListTests {
  private let streams = (0..<3).map { index in
    let stream = UnsafeMutablePointer<ServerStream>.allocate(capacity: 1)
    stream.initialize(to: ServerStream(id: Int32(index), now: MonotonicTime(nanoseconds: 0)))
    return stream
  }

  private func ids(_ list: ServerStreamList) -> [Int32] {
    var (ids, next): ([Int32], ServerStreamList.Stream?) = ([], list.first)
    while let stream = next {
      ids.append(stream.pointee.id)
      next = stream.pointee.next
    }
    return ids
  }

  @Test func anyStreamCanLeave() {
    var list = ServerStreamList()
    for stream in streams { list.add(stream) }
    #expect(ids(list) == [2, 1, 0])
    list.remove(streams[1])
    #expect(ids(list) == [2, 0])
    list.remove(streams[2])
    list.remove(streams[0])
    #expect(list.isEmpty && list.count == 0)
    for stream in streams { stream.deallocate() }
  }

  @Test func theOpeningStreamIsTheNewestUntilItsHeadersAreComplete() {
    var list = ServerStreamList()
    list.add(streams[0])
    list.opened()
    #expect(list.opening == nil)
    list.add(streams[1])
    #expect(list.opening == streams[1])
    list.remove(streams[0])
    #expect(list.opening == streams[1])
    list.remove(streams[1])
    #expect(list.opening == nil)
    for stream in streams { stream.deallocate() }
  }

  @Test func readyStreamsKeepTheirOrderAndWaitOnce() {
    var ready = ReadyStreams()
    for stream in [streams[1], streams[0], streams[1], streams[2]] { ready.add(stream) }
    #expect(streams.allSatisfy { ready.contains($0) })
    let order = (0..<4).map { _ in ready.removeFirst()?.pointee.id }
    #expect(order == [1, 0, 2, nil])
    #expect(ready.isEmpty && !streams.contains { ready.contains($0) })
    ready.add(streams[0])
    let next = ready.removeFirst()
    #expect(next == streams[0])
    for stream in streams { stream.deallocate() }
  }
}

@Suite struct HeaderBlockRulesTests {
  @Test func streamsOnlyGoUp() {
    var rules = HeaderBlockRules(limitBytes: 100)
    let verdicts = [1, 3, 3, 9, 5, 7, 1, 11].map { rules.begin(stream: $0) }
    #expect(
      verdicts == [
        .newStream, .newStream, .knownStream, .newStream, .skippedStream, .skippedStream, .knownStream, .newStream,
      ])
  }

  @Test func aBlockIsMeasuredAndABombIsTold() {
    var rules = HeaderBlockRules(limitBytes: 100)
    _ = rules.begin(stream: 1)
    let verdicts = [60, 40, 1, 1, 298, 1, 1_199, 1].map { rules.add(fieldOf: $0) }
    #expect(verdicts == [.accepted, .accepted, .costs, .accepted, .costs, .accepted, .costs, .isBomb])
    _ = rules.begin(stream: 3)
    let next = rules.add(fieldOf: 100)
    #expect(next == .accepted)
  }
}

@Suite struct ClientConductTests {
  private let start = MonotonicTime(nanoseconds: 1_000)

  private func reason(of frames: [Frame], _ configuration: RPCServerConfiguration = .init()) -> String? {
    var conduct = ClientConduct(configuration, now: start)
    var bytes = Frame.preface + frames.flatMap(\.bytes)
    let offence = bytes.withUnsafeMutableBytes { conduct.received($0, at: start, hasCalls: true) }
    return offence.map { "\($0.reason)" }
  }

  @Test func honestFramesAreNoOffence() {
    #expect(reason(of: [Frame.headers(1, Frame.call("/test/Echo")), Frame.data(1, [0, 0, 0, 0, 0])]) == nil)
  }

  @Test func theFirstOffenceIsNamed() {
    #expect(reason(of: [Frame(type: 2, payload: [0, 0, 0, 0, 0])]) == "priority_on_stream_0")
    #expect(reason(of: (0..<4).map { _ in Frame.ping() }) == "too_many_pings")
    var strict = RPCServerConfiguration()
    strict.abuseLimits.unknownFrames = .init(burst: 1, perSecond: 0)
    #expect(reason(of: [Frame(type: 99, payload: [])], strict) == nil)
    #expect(reason(of: (0..<2).map { _ in Frame(type: 99, payload: []) }, strict) == "too_many_unknown_frames")
  }

  @Test func aTinyWindowIsOneAndLargeFramesMakeUpForIt() {
    var strict = RPCServerConfiguration()
    strict.abuseLimits.tinyWindows = .init(burst: 1, perSecond: 0)
    var conduct = ClientConduct(strict, now: start)
    func reason(ofWindow bytes: Int, afterSending length: Int = 0) -> String? {
      conduct.sent(.data, length: length)
      return conduct.windowCutsData(to: bytes, at: start).map { "\($0.reason)" }
    }
    #expect(reason(ofWindow: 256) == nil)
    #expect(reason(ofWindow: 255) == nil)
    #expect(reason(ofWindow: 1, afterSending: 1_024) == nil)
    #expect(reason(ofWindow: 1, afterSending: 1_023) == "too_many_tiny_windows")
  }
}

@Suite struct ByteCountTests {
  @Test func theInflationBudgetIsUsedUpOnceAndRenewed() {
    var budget = InflationBudget()
    let uses = [1 << 19, (1 << 19) - 1, 1, 1].map { budget.use($0) }
    #expect(uses == [false, false, true, false])
    #expect(budget.isUsedUp)
    budget.renew()
    #expect(!budget.isUsedUp)
  }

  @Test func blockedOutputWaitsUntilTheSocketTookItAll() {
    let (first, later) = (MonotonicTime(nanoseconds: 1), MonotonicTime(nanoseconds: 2))
    var blocked = [1, 2, 3].withUnsafeBytes { BlockedOutput(UnsafeRawBufferPointer(rebasing: $0[..<3]), at: first) }
    #expect(blocked.since == first && blocked.count == 3)
    let isOver = blocked.sent(2, at: later)
    #expect(!isOver && blocked.since == later && blocked.count == 3)
    #expect(blocked.withRest(\.count) == 1)
    let isOverNow = blocked.sent(1, at: later)
    #expect(isOverNow && BlockedOutput().isEmpty)
  }
}
