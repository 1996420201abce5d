// The version that both commands print, and that the service tells its operators.

package enum CommandVersion {
  /// The first line of the file VERSION, which the build embeds.
  package static var text: String {
    String(decoding: PackageResources.VERSION.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}
