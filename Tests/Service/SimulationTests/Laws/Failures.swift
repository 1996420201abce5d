// Which errors a caller may meet, and when.

import DispatchRPC

enum Failures {
  static func check(_ error: RPCError, of call: Call, in world: World) {
    world.require(
      !error.message.contains(StoreFaults.privateMessage), "R41", "\(call.method) tells what the log is told")
    let faults = world.database.hasFailed(since: call.dispatchedStep ?? 0)
    switch error.code {
    case .invalidArgument, .failedPrecondition, .notFound, .unimplemented: break
    case .unavailable: world.require(faults, "answer", "\(call.method) is unavailable though nothing failed")
    case .aborted: world.require(faults, "answer", "\(call.method) gave up though nobody was in its way")
    case .resourceExhausted: break
    default: world.report("answer", "\(call.method) fails with \(error)")
    }
  }
}
