// The calls that DispatchRPC's echo and grpc's are measured with: one fixed message, in a closed loop.
//
//     rpc-load PORT CONNECTIONS STREAMS SECONDS [AUTHORITIES]      with authorities over TLS, otherwise plaintext
//
// Each connection has STREAMS calls in flight. After a second of warm-up it prints "measuring", and after SECONDS more
// the number of calls that were answered meanwhile. It exits with 1 if a connection or a call fails, or an answer is no
// echo.

import Dispatch
import DispatchRPC
import Glibc
import Synchronization

let arguments = CommandLine.arguments.dropFirst()
guard (4...5).contains(arguments.count), let connectionCount = Int(arguments[2]), let streams = Int(arguments[3]),
  let seconds = UInt32(arguments[4]), let port = UInt16(arguments[1])
else { fail("usage: rpc-load PORT CONNECTIONS STREAMS SECONDS [AUTHORITIES]") }

// With its field's number and length it is a protobuf message of 16 bytes.
let request = RPCClientRequest(path: "/bench.Echo/Echo", message: [0x0A, 14] + Array("fourteen bytes".utf8))
let answered = Atomic(0)
let isUp = DispatchSemaphore(value: 0)
let loop = EventLoop(label: "bench.load")

@Sendable func next(_ connection: RPCClientConnection) {
  connection.start(request) { result in
    switch result {
    case .success(let response) where response.message == request.message:
      answered.add(1, ordering: .relaxed)
      next(connection)
    case .success(let response): fail("an answer is no echo: \(response.message)")
    case .failure(let error): fail("a call failed: \(error)")
    }
  }
}

var configuration = RPCClientConfiguration()
if let authorities = arguments.dropFirst(4).first {
  configuration.tls = try RPCClientTLS(authorities: .file(authorities))
}
let address = try SocketAddress.resolve(host: "127.0.0.1", port: port)[0]
let connections = (0..<connectionCount).map { [configuration] _ in
  RPCClientConnection(address: address, loop: loop, configuration: configuration) { event in
    switch event {
    case .connected: isUp.signal()
    case .closed(let error): fail("\(address): \(error)")
    default: break
    }
  }
}
for connection in connections { connection.connect() }
for _ in connections { isUp.wait() }
for connection in connections { for _ in 0..<streams { next(connection) } }

sleep(1)
print("measuring")
// The benchmark reads the line from a pipe, and reads the server's CPU then.
fflush(nil)
let before = answered.load(ordering: .relaxed)
sleep(seconds)
print(answered.load(ordering: .relaxed) - before)
exit(0)

@Sendable func fail(_ reason: String) -> Never {
  let line = Array("rpc-load: \(reason)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
  exit(1)
}
