// Device ids that many phones have, because an app, a system or an example gave them.

enum KnownDeviceIDs {
  /// The letters and digits of an id, in lower case.
  static func contains(_ id: [UInt8]) -> Bool { all.contains(String(decoding: id, as: UTF8.self)) }

  private static let all = Set(shared + digests)

  /// An Android id of a faulty series of phones (Android issue 10603) and of an emulator, and the UUIDs of RFC 9562 and its predecessors, of
  /// libraries' documentation and of their examples.
  private static let shared = [
    "9774d56d682e549c", "550e8400e29b41d4a716446655440000", "f47ac10b58cc4372a5670e02b2c3d479",
    "123e4567e89b12d3a456426614174000",
    "7d4448409dc011d1b2455ffdce74fad2", "6ba7b8109dad11d180b400c04fd430c8", "a5f5faddde9e9f02", "0000000000000000",
  ]

  /// MD5, SHA-1 and SHA-256 of what systems answer instead of an identifier: nothing, "0", "null", "nil", "undefined", "unknown", "none",
  /// "test", "android", the addresses 02:00:00:00:00:00 and 00:00:00:00:00:00, fifteen zeros, the nil UUID, and the Android id above.
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
  ]
}
