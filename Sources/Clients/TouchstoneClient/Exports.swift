// The types that a user of this module needs from other modules, so that one import is enough: the messages, and the
// parts of a configuration.

@_exported public import enum DispatchPool.PoolBalancing
@_exported public import class DispatchRPC.RPCClientTLS
@_exported public import struct DispatchRPC.Metadata
@_exported public import struct DispatchRPC.RPCCode
@_exported public import TouchstoneCodec
