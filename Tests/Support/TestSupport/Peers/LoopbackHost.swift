extension String {
  /// One of the machine's 16 million addresses for itself, and no other test's: a port of it that a stopped server
  /// leaves stays free, whatever servers and clients come up meanwhile.
  public static func ownLoopbackHost() -> String {
    "127.\(UInt8.random(in: 1...254)).\(UInt8.random(in: 1...254)).\(UInt8.random(in: 1...254))"
  }
}
