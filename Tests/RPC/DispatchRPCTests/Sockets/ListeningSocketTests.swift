import Glibc
import TestSupport
import Testing

@testable import DispatchRPC

@Suite struct ListeningSocketTests {
  /// Close-on-exec does not help between fork and exec.
  @Test func aClosedSocketGivesItsAddressBackWhileAChildHasACopy() throws {
    let socket = try ListeningSocket(host: .ownLoopbackHost(), port: 0)
    let copy = dup(socket.descriptor)
    defer { close(copy) }
    socket.close()
    let again = try ListeningSocket(host: socket.address.host, port: socket.address.port)
    #expect(again.address == socket.address)
  }
}
