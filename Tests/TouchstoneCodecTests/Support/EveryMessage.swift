// The public messages and the one that is not.

import CodecMessages

@testable import TouchstoneCodec

extension AnyMessageType {
  static let every = all + [AnyMessageType(RPCDetail.PackedStatus.self)]
}
