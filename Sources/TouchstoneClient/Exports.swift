// What a user of this module needs of its neighbours, so that one import is enough: the messages, and two value types.

@_exported public import struct DispatchRPC.Metadata
@_exported public import struct DispatchRPC.RPCCode
@_exported public import TouchstoneCodec
