// Messages of every type. Tests/Core/TouchstoneCodecTests compares what is read of the same inputs with what Python
// reads.

import CodecMessages
import TouchstoneCodec

extension FuzzTarget {
  /// See `CodecInput`. A decoded message is encoded as bytes that decode to the same message.
  static let codec = FuzzTarget("codec", maximumBytes: 2 << 10) { bytes in
    let input = CodecInput(Array(bytes))
    let coder = MessageCoder()
    guard let first = try? input.type.roundTrip(input.message, coder) else { return }
    guard let second = try? input.type.roundTrip(first.bytes, coder) else {
      fatalError("\(input.type.name) reads what it cannot read again")
    }
    require(second == first, "\(input.type.name) changed on its way")
  }

  /// JSON that callers send. The codec writes each message that it reads, and reads that JSON as the same message.
  static let json = FuzzTarget("json", maximumBytes: 2 << 10) { bytes in
    let input = CodecInput(Array(bytes))
    guard let first = try? input.type.readJSON(input.message) else { return }
    guard let second = try? input.type.readJSON(Array(first.json.utf8)) else {
      fatalError("\(input.type.name) writes JSON that it cannot read")
    }
    require(second == first, "\(input.type.name) changed on its way")
  }
}
