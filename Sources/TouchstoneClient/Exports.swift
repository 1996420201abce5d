// What a user of this module needs of its neighbours, so that one import is enough: the messages, and what a configuration is
// made of.

@_exported public import enum DispatchPool.PoolBalancing
@_exported public import class DispatchRPC.RPCClientTLS
@_exported public import struct DispatchRPC.Metadata
@_exported public import struct DispatchRPC.RPCCode
@_exported public import TouchstoneCodec
