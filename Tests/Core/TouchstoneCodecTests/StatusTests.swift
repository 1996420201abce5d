// google.rpc.Status with its details.

import Testing

@testable import TouchstoneCodec

@Suite struct StatusTests {
  @Test func `every kind of detail survives`() throws {
    let status = RPCDetail.Status(
      code: 3, message: "posture.os_version: must be one to three numbers",
      details: [
        .badRequest(
          RPCDetail.BadRequest(fieldViolations: [
            RPCDetail.BadRequest.FieldViolation(
              field: "posture.os_version", description: "must be one to three numbers")
          ])),
        .errorInfo(RPCDetail.ErrorInfo(reason: "TICKET_INVALID", domain: "touchstone", metadata: ["ticket": "used"])),
        .retryInfo(RPCDetail.RetryInfo(retryDelay: V1.Duration(nanoseconds: 200_000_000))),
        .quotaFailure(
          RPCDetail.QuotaFailure(violations: [
            RPCDetail.QuotaFailure.Violation(subject: "caller:login", description: "1,000 calls a second")
          ])),
        .preconditionFailure(
          RPCDetail.PreconditionFailure(violations: [
            RPCDetail.PreconditionFailure.Violation(
              type: "BOUND", subject: "device:1", description: "to another profile")
          ])),
        .localizedMessage(RPCDetail.LocalizedMessage(locale: "zh-Hans", message: "请稍后再试。")),
        .other(RPCDetail.AnyMessage(typeURL: "type.googleapis.com/google.rpc.Help", value: [0x0A, 0])),
      ])
    #expect(try RPCDetail.Status.decoded(from: status.encoded()) == status)
  }

  @Test func `a detail is named by its type URL`() throws {
    let status = RPCDetail.Status(
      code: 14, details: [.retryInfo(RPCDetail.RetryInfo(retryDelay: V1.Duration(seconds: 1)))])
    let retryInfo = Wire.field(1, Wire.field(1, varint: 1))
    let any = Wire.field(1, "type.googleapis.com/google.rpc.RetryInfo") + Wire.field(2, retryInfo)
    #expect(try status.encoded() == Wire.field(1, varint: 14) + Wire.field(3, any))
  }

  @Test func `a detail that cannot be read leaves the rest readable`() throws {
    let damaged = RPCDetail.AnyMessage(typeURL: "type.googleapis.com/google.rpc.RetryInfo", value: [0xFF])
    let status = RPCDetail.Status(code: 8, message: "slow down", details: [.other(damaged)])
    #expect(try RPCDetail.Status.decoded(from: status.encoded()) == status)
  }

  @Test func `NUL in a detail is refused`() {
    let status = RPCDetail.Status(details: [.errorInfo(RPCDetail.ErrorInfo(reason: "A\0B"))])
    #expect(throws: EncodingError.self) { try status.encoded() }
  }
}
