// The CPU and memory of a service on this machine, from proc(5).

internal import FoundationEssentials
internal import Glibc
internal import LoadModel
internal import MonotonicClock

struct ServiceSampler: Sendable {
  private let pid: Int

  private static let interval = Duration.seconds(1)
  private static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
  private static let pageMegabytes = Double(sysconf(Int32(_SC_PAGESIZE))) / 1_048_576

  /// `nil` if the target is elsewhere or several addresses, or its process belongs to another user.
  init?(target: String) {
    let parts = target.split(separator: ":")
    guard let host = parts.first, !target.contains(","),
      host == "127.0.0.1" || host == "localhost" || target.hasPrefix("[::1]:"),
      let port = parts.last.flatMap({ UInt16($0) }), let pid = Self.listener(on: port)
    else { return nil }
    self.pid = pid
  }

  /// Samples until the end, or until the task is cancelled.
  func samples(from begin: MonotonicTime, for duration: Duration) async -> LoadReport.ServiceEntry? {
    guard let first = usage() else { return nil }
    let start = MonotonicTime.now()
    var last = (time: start, cpu: first.cpu)
    var latest = first
    var samples: [LoadReport.ServiceEntry.Sample] = []
    while !Task.isCancelled, MonotonicTime.now() < begin + duration {
      try? await Task.sleep(for: Self.interval)
      let now = MonotonicTime.now()
      // The last sample would be of an instant only.
      guard now - last.time > Self.interval / 2, let usage = usage() else { break }
      samples.append(
        LoadReport.ServiceEntry.Sample(
          at: (last.time - begin).inSeconds, cores: (usage.cpu - last.cpu) / (now - last.time).inSeconds,
          megabytes: usage.megabytes))
      last = (now, usage.cpu)
      latest = usage
    }
    return LoadReport.ServiceEntry(
      pid: pid, cpuSeconds: (usage() ?? latest).cpu - first.cpu, samples: samples.filter { $0.at >= -0.5 })
  }

  private func usage() -> (cpu: Double, megabytes: Double)? {
    guard let stat = TextFile.read("/proc/\(pid)/stat"), let name = stat.lastIndex(of: ")"),
      let memory = TextFile.read("/proc/\(pid)/statm")
    else { return nil }
    let fields = stat[name...].split(separator: " ").dropFirst()
    let pages = memory.split(separator: " ").dropFirst().first
    guard fields.count > 12, let user = Double(fields[fields.startIndex + 11]),
      let system = Double(fields[fields.startIndex + 12]), let pages, let pages = Double(pages)
    else { return nil }
    return ((user + system) / Self.ticksPerSecond, pages * Self.pageMegabytes)
  }

  // MARK: The process

  private static func listener(on port: UInt16) -> Int? {
    let sockets = Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap { listeningSockets($0, port) })
    guard !sockets.isEmpty else { return nil }
    return entries(of: "/proc").compactMap { Int($0) }.first { pid in
      entries(of: "/proc/\(pid)/fd").contains { descriptor in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(descriptor)")
        return target.map(sockets.contains) ?? false
      }
    }
  }

  /// Their names as descriptors' links have them. The columns: number, local address, remote address, state (0A:
  /// listens), …
  private static func listeningSockets(_ path: String, _ port: UInt16) -> [String] {
    (TextFile.read(path) ?? "").split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count > 9, fields[3] == "0A", let localPort = fields[1].split(separator: ":").last,
        UInt16(localPort, radix: 16) == port
      else { return nil }
      return "socket:[\(fields[9])]"
    }
  }

  private static func entries(of directory: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  }
}
