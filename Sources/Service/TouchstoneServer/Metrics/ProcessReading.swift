// The kernel's figures of this process.

internal import Glibc

/// Prometheus's standard figures of a process, from /proc and the clock of its processor time.
enum ProcessReading {
  static func processorSeconds() -> Double { reading(of: CLOCK_PROCESS_CPUTIME_ID).inSeconds }

  /// In bytes.
  static func memory() -> (virtual: Double, resident: Double)? {
    // In pages: size, resident, …
    guard let fields = text(of: "/proc/self/statm")?.split(separator: " "), fields.count > 1,
      let size = Double(fields[0]), let resident = Double(fields[1])
    else { return nil }
    let page = Double(sysconf(Int32(_SC_PAGESIZE)))
    return (size * page, resident * page)
  }

  static func openDescriptors() -> Int? {
    guard let directory = opendir("/proc/self/fd") else { return nil }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    // ".", "..", and the directory's own.
    return max(0, count - 3)
  }

  static func maximumDescriptors() -> Double? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    return limit.rlim_cur == rlim_t.max ? .infinity : Double(limit.rlim_cur)
  }

  /// In seconds since 1970.
  static func startTime() -> Double? {
    guard let stat = text(of: "/proc/self/stat"), let boot = bootTime() else { return nil }
    // The second field is the name in parentheses, which may hold spaces. The 22nd is the start in clock ticks after
    // the boot.
    let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
    guard fields.count > 20, let ticks = Double(fields[20]) else { return nil }
    return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private static func bootTime() -> Double? {
    let line = text(of: "/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
    return line.flatMap { Double($0.dropFirst("btime ".count)) }
  }

  /// Files of /proc have no size. /proc/stat has a line for each processor, and some hundred bytes for each interrupt.
  private static let maximumBytes = 256 << 10

  private static func text(of path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    var text: [UInt8] = []
    while text.count < maximumBytes {
      let count = read(descriptor, &bytes, bytes.count)
      guard count > 0 else { break }
      text += bytes[..<count]
    }
    return String(decoding: text, as: UTF8.self)
  }
}
