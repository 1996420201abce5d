// The echo of DispatchRPC that is measured against grpc's C++ and Go: one event loop, bytes as they are.
//
//     rpc-echo [CERTIFICATE KEY]      with both over TLS, otherwise plaintext

import Dispatch
import DispatchRPC
import Glibc

var router = RPCRouter()
router.register("/bench.Echo/Echo") { call, message in call.respond(Array(message)) }

let files = CommandLine.arguments.dropFirst()
let tls = files.count == 2 ? try RPCServerTLS(certificateChainFile: files[1], privateKeyFile: files[2]) : nil
let server = RPCServer(configuration: RPCServerConfiguration(eventLoops: 1), router: router)
let address = try server.listen(host: "127.0.0.1", port: 0, tls: tls)
print(address)
// Whoever waits for the line reads from a pipe.
fflush(nil)
dispatchMain()
