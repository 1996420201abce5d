internal import Glibc

/// The directories and links that the kernel passes on its way to a path (path_resolution(7)).
struct Way {
  /// Without links; empty for the root.
  private var directory = ""
  /// Names that are still to be looked up, the next one last.
  private var names: [Substring]
  /// More links are a circle (path_resolution(7)).
  private var linksLeft = 40

  init(to path: String) {
    names = path.split(separator: "/").reversed()
    guard !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return }
    defer { free(current) }
    names += String(cString: current).split(separator: "/").reversed()
  }

  /// - Returns: the directory in which the next name is looked up, and its path if it is a link's.
  mutating func next() -> (directory: String, link: String?)? {
    guard let name = names.popLast() else { return nil }
    let place = directory.isEmpty ? "/" : directory
    let path = "\(directory)/\(name)"
    switch name {
    case ".": break
    case "..": directory = directory.split(separator: "/").dropLast().map { "/\($0)" }.joined()
    default:
      guard let target = Self.target(ofLink: path) else {
        directory = path
        break
      }
      linksLeft -= 1
      guard linksLeft >= 0 else { return nil }
      names += target.split(separator: "/").reversed()
      if target.hasPrefix("/") { directory = "" }
      return (place, path)
    }
    return (place, nil)
  }

  /// `nil`: it is no link.
  private static func target(ofLink path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes.prefix(count).lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
