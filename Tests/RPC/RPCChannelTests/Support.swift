import DispatchRPC
import RPCChannel
import RPCLoopback
import TestSupport

extension RPCChannel {
  /// A stream whose events can be awaited.
  func openStream(
    _ path: String, _ options: RPCCallOptions = RPCCallOptions()
  ) -> (stream: RPCChannelStream, seen: Box<Sighting>) {
    let seen = Box<Sighting>()
    return (openStream(path, options: options) { _, event in seen.put(Sighting(event)) }, seen)
  }

  /// The error of a call without a message; `nil`: it is answered.
  func failure(_ path: String, _ options: RPCCallOptions = RPCCallOptions()) async -> RPCError? {
    do throws(RPCError) {
      _ = try await call(path, [], options: options)
      return nil
    } catch {
      return error
    }
  }
}
