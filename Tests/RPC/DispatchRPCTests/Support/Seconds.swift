@testable import DispatchRPC

func seconds(_ value: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: value * 1_000_000_000) }
