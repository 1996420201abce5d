/// Device ids that many phones have, because an app, a system or an example gave them.
enum KnownDeviceIDs {
  /// - Parameter id: its letters and digits, in lower case.
  static func contains(_ id: [UInt8]) -> Bool {
    all.contains(withoutUUIDMarks(id)) || id.suffix(modelNode.count).elementsEqual(modelNode)
  }

  private static let all = Set((shared + digests).map { withoutUUIDMarks(Array($0.utf8)) })

  /// The last group of the UUID that a common recipe for Android makes: of the phone's model, and a serial number that
  /// no app may read any more.
  private static let modelNode = Array("ffffef05ac4a".utf8)

  /// A digest that is made a UUID loses six bits to version and variant (RFC 9562, section 5.3). Every id of that
  /// length is compared without them.
  private static func withoutUUIDMarks(_ id: [UInt8]) -> [UInt8] {
    guard id.count == 32, let variant = Character(UnicodeScalar(id[16])).hexDigitValue else { return id }
    var id = id
    id[12] = UInt8(ascii: "0")
    id[16] = UInt8(ascii: "0") + UInt8(variant & 3)
    return id
  }

  /// An Android id of a faulty series of phones (Android issue 10603) and of an emulator, and the UUIDs of RFC 9562
  /// (its appendix A) and its predecessors, of Apple's and libraries' documentation and of their examples.
  private static let shared = [
    "9774d56d682e549c", "550e8400e29b41d4a716446655440000", "f47ac10b58cc4372a5670e02b2c3d479",
    "123e4567e89b12d3a456426614174000",
    "c232ab00941411ecb3c89f6bdeced846", "5df418813aed351588a72f4a814cf09e", "919108f752d143209bacf847db4148a8",
    "2ed6657de927568b95e12665a8aea6a2", "1ec9414c232a6b00b3c89f6bdeced846", "017f22e279b07cc398c4dc0c0c07398f",
    "2489e9ad2ee28e008ec932d5f69181c0", "a1b2c3d4e5f67890abcdef1234567890",
    "e621e1f8c36c495a93fc0c247a3e6e5f",
    "7d4448409dc011d1b2455ffdce74fad2", "6ba7b8109dad11d180b400c04fd430c8", "a5f5faddde9e9f02", "0000000000000000",
  ]

  /// MD5, SHA-1 and SHA-256 of what systems answer instead of an identifier: nothing, "0", "null", "nil", "undefined",
  /// "unknown", "none", "test", "android", "(null)", "Unknown", "NULL", "1", the addresses 02:00:00:00:00:00 (also
  /// without colons) and 00:00:00:00:00:00, fifteen zeros, the nil UUID, and the Android id above; and SHA-512 of
  /// nothing.
  private static let digests = [
    "d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "cfcd208495d565ef66e7dff9f98764da",
    "b6589fc6ab0dc82cf12099d1c2d40ab994e8410c", "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
    "37a6259cc0c1dae299a7866489dff0bd", "2be88ca4242c76e8253ac62474851065032d6833",
    "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b", "852438d026c018c4307b916406f98c62",
    "b5366a2d2ac98dae978423083f8b09e5cddc705d", "5da3a4c7f117944275b4c8629c4916403625d5a4a6573a01ecb03f0e9d2edbe6",
    "5e543256c480ac577d30f76f9120eb74", "d5d4cd07616a542891b7ec2d0257b3a24b69856e",
    "eb045d78d273107348b0300c01d29b7552d622abbc6faf81b3ec55359aa9950c", "ad921d60486366258809553a3db49a4a",
    "50d8b4a941c26b89482c94ab324b5a274f9ced66", "b23a6a8439c0dde5515893e7c90c1e3233b8616e634470f20dc4928bcf3609bc",
    "334c4a4c42fdb79d7ebc3e73b517e6f8", "71f8e7976e4cbc4561c9d62fb283e7f788202acb",
    "140bedbf9c3f6d56a9846d2ba7088798683f4da0c248231336e6a05679e4fdfe", "098f6bcd4621d373cade4e832627b4f6",
    "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "c31b32364ce19ca8fcd150a417ecce58", "e4bbe5b7a4c1eb55652965aee885dd59bd2ee7f4",
    "f60ed56a9c8275894022fe5a7a1625c33bdb55b729bb4e38962af4d1613eda25", "0f607264fc6318a92b9e13c65db7cd3c",
    "c1976429369bfe063ed8b3409db7c7e7d87196d9", "c248c629af1fe0a8c46b95668064c1d2952a9e91d207bc0cc3c5d584c2f7553a",
    "528c8e6cd4a3c6598999a0e9df15ad32", "85cce83032eb6bd39ddea68e0be917e4665b5d26",
    "38fbdde984330e50c02382e647c576b71f41cc5c45b193d4f3177e6ee8f22a78", "5284047f4ffb4e04824a2fd1d1f0cd62",
    "c02c705e98588f724ca046ac59cafece65501e36", "14bdcd6fd64180af5e7791df91b6af8e9a3e7bc844997eb8c29252706df97ca5",
    "9f89c84a559f573636a47ff8daed0d33", "b602d594afd2b0b327e07a06f36ca6a7e42546d0",
    "12b9377cbe7e5c94e8a70d9d23929523d14afa954793130f8a3959c7b849aca8", "cf95dc53f383f9a836fd749f3ef439cd",
    "41e29575c7361b2924f701502ca6d932b45b9e51", "4d853cd5e7d688e75b3dca9abc2fa52ac8bafb750b6d4dc01b78e2e7bb335f8f",
    "a4d2f177eb466a7d08f8f2b340b77129", "fde49aa00f4966a6abc348b5b3b985032eabf411",
    "2874d7800fecae20844f682696920b2853453cd32c47e1362a776203d0229b14", "88183b946cc5f0e8c96b2e66e1c74a7e",
    "bc7819b34ff87570745fbe461e36a16f80e562ce", "b764cdc0eab7137467211272fa539f1260d1bf2e71bcf6ff3bdc960f5c16aa14",
    "6c3e226b4d4795d518ab341b0824ec29", "eef19c54306daa69eda49c0272623bdb5e2b341f",
    "fb329000228cc5a24c264c57139de8bf854fc86fc18bf1c04ab61a2b5cb4b921", "c4ca4238a0b923820dcc509a6f75849b",
    "356a192b7913b04c54574d18c28d46e6395428ab", "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
    "e3f5536a141811db40efd6400f1d0a4e", "6024a02ea5577bcb6442a70d0bfa791935839db3",
    "fb9813158e025b24bc6a0a079c5c3050954583189d45fd9f7791eed1dee7d73e",
    "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
  ]
}
