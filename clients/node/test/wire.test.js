"use strict";
// Messages and their bytes. Tests/ClientPackages compares whole messages with Python's.

const assert = require("node:assert/strict");
const test = require("node:test");

const messages = require("../generated/messages.js");
const { Message } = require("../lib/wire.js");

const { BeginEvaluationRequest, DeviceReport, Event, SubmitAttemptRequest, SubmitAttemptResponse } = messages;

function hex(bytes) {
  return Buffer.from(bytes).toString("hex");
}

test("A message has the bytes that protobuf's encoding says", () => {
  assert.equal(hex(new Message("a.B", () => [{ number: 1, name: "a", kind: "int32" }]).encode({ a: 150 })), "089601");
  assert.equal(hex(DeviceReport.encode({ laError: "LA_ERROR_AUTHENTICATION_FAILED" })), "08ffffffffffffffffff01");
  assert.equal(hex(Event.encode({ details: { a: "b" } })), "4a060a016112" + "0162");
});

test("An empty message has every field but messages", () => {
  const event = Event.decode(Buffer.alloc(0));
  assert.deepEqual([event.sequence, event.kind, event.details, event.hash.length], [0n, "", {}, 0]);
  assert.ok(!("time" in event));
  assert.equal(SubmitAttemptResponse.decode(Buffer.alloc(0)).outcome, "OUTCOME_UNSPECIFIED");
});

test("Times, durations and large numbers keep their values", () => {
  for (const time of [new Date(0), new Date(-1), new Date("2026-01-31T12:00:00.123Z"), new Date("0001-01-01T00:00:00Z")]) {
    assert.deepEqual(Event.decode(Event.encode({ time })).time, time);
  }
  for (const retryAfter of [0, 1, 1500, -1500, 0.000001]) {
    assert.equal(SubmitAttemptResponse.decode(SubmitAttemptResponse.encode({ retryAfter })).retryAfter, retryAfter);
  }
  for (const sequence of [1n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
    assert.equal(Event.decode(Event.encode({ sequence })).sequence, sequence);
  }
  assert.equal(Event.decode(Event.encode({ sequence: 7 })).sequence, 7n);
});

test("A oneof's field is there even if it is empty, and the last one counts", () => {
  const bytes = SubmitAttemptRequest.encode({ passcode: { passcode: "" } });
  assert.deepEqual(SubmitAttemptRequest.decode(bytes).passcode, { passcode: "" });
  const both = Buffer.concat([bytes, SubmitAttemptRequest.encode({ gesture: { points: [1, 2] } })]);
  const decoded = SubmitAttemptRequest.decode(both);
  assert.deepEqual([decoded.passcode, decoded.gesture.points], [undefined, [1, 2]]);
});

test("A value without a name is its number, and unknown fields are passed over", () => {
  assert.equal(SubmitAttemptResponse.decode(SubmitAttemptResponse.encode({ outcome: 77 })).outcome, 77);
  assert.equal(Event.decode(Buffer.from("fa0100" + "f80101" + "f9010000000000000000" + "1a0161", "hex")).kind, "a");
});

test("A key of a map is no way to an object's prototype", () => {
  const bytes = Event.encode({ details: JSON.parse('{"__proto__":"x"}') });
  const { details } = Event.decode(bytes);
  assert.deepEqual(Object.entries(details), [["__proto__", "x"]]);
  assert.equal(Object.getPrototypeOf(details), Object.prototype);
});

test("What cannot be encoded is refused by its path", () => {
  for (const [type, value, problem] of [
    [BeginEvaluationRequest, null, /the request: must be an object/],
    [BeginEvaluationRequest, { transaction: [] }, /transaction: must be an object/],
    [BeginEvaluationRequest, { posture: { platform: "\ud800" } }, /posture.platform: has half a surrogate pair/],
    [BeginEvaluationRequest, { posture: { passcodeSet: 1 } }, /posture.passcodeSet: must be true or false/],
    [SubmitAttemptRequest, { gesture: { points: [1, -1] } }, /gesture.points\[1\]: must be a whole number from 0/],
    [SubmitAttemptRequest, { gesture: { points: [1.5] } }, /gesture.points\[0\]: must be a whole number/],
    [SubmitAttemptRequest, { primary: { authenticatedAt: "now" } }, /primary.authenticatedAt: must be a valid Date/],
    [SubmitAttemptRequest, { primary: { authenticatedAt: new Date(NaN) } }, /must be a valid Date/],
    [Event, { details: { a: 1 } }, /details.a: must be a string/],
    [Event, { sequence: 2n ** 64n }, /sequence: must be a whole number/],
  ]) assert.throws(() => type.encode(value), { name: "TypeError", message: problem });
});

test("Bytes that are no message are refused", () => {
  for (const bytes of ["08", "0a05", "1a02ff", "1a01ff", "0affffffffffffffffffff01", "0b", "0c", "10", "ffffffffffffffffffffff01"]) {
    assert.throws(() => Event.decode(Buffer.from(bytes, "hex")), undefined, bytes);
  }
  // Every end of a real one but those between its fields.
  const whole = Event.encode({ kind: "a.b", details: { a: "b" }, time: new Date(1) });
  for (let end = 0; end < whole.length; end += 1) {
    try {
      Event.decode(whole.subarray(0, end));
    } catch (error) {
      assert.match(error.message, /truncated/);
    }
  }
});
