"use strict";
// The reasons of failed calls. A policy's decision is never an error: the answer carries it.

const details = require("../generated/messages.js");

/** gRPC's codes, by their numbers. */
const CODES = [
  "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
  "UNAUTHENTICATED",
];

/** A call without an answer: the service refused it, or the call did not reach it. */
class TouchstoneError extends Error {
  constructor(code, message, status = {}) {
    const found = detailsOf(status.details);
    const fields = Object.fromEntries((found.BadRequest?.fieldViolations ?? []).map((one) => [one.field, one.description]));
    super(describe(code, found.ErrorInfo?.reason, message, fields), status.cause && { cause: status.cause });
    this.name = new.target.name;
    this.code = code;
    this.reason = found.ErrorInfo?.reason ?? "";
    this.metadata = found.ErrorInfo?.metadata ?? {};
    this.fields = fields;
    this.retryAfter = found.RetryInfo?.retryDelay;
    this.quotas = (found.QuotaFailure?.violations ?? []).map((one) => one.subject);
    this.text = found.LocalizedMessage?.message ?? "";
  }

  /** `details`: the bytes of google.rpc.Status. */
  static of(code, message, details) {
    return new (BY_CODE[code] ?? TouchstoneError)(code, message, { details });
  }
}

class Unauthenticated extends TouchstoneError {}
class PermissionDenied extends TouchstoneError {}
class InvalidArgument extends TouchstoneError {}
class FailedPrecondition extends TouchstoneError {}
class NotFound extends TouchstoneError {}
class OutOfRange extends TouchstoneError {}
class Aborted extends TouchstoneError {}
class Unavailable extends TouchstoneError {}
class ResourceExhausted extends TouchstoneError {}
class DeadlineExceeded extends TouchstoneError {}
class Cancelled extends TouchstoneError {}

const BY_CODE = {
  UNAUTHENTICATED: Unauthenticated,
  PERMISSION_DENIED: PermissionDenied,
  INVALID_ARGUMENT: InvalidArgument,
  FAILED_PRECONDITION: FailedPrecondition,
  NOT_FOUND: NotFound,
  OUT_OF_RANGE: OutOfRange,
  ABORTED: Aborted,
  UNAVAILABLE: Unavailable,
  RESOURCE_EXHAUSTED: ResourceExhausted,
  DEADLINE_EXCEEDED: DeadlineExceeded,
  CANCELLED: Cancelled,
};

const KINDS = ["ErrorInfo", "BadRequest", "RetryInfo", "QuotaFailure", "LocalizedMessage"];

/** Returns the first detail of each kind. Unreadable details are treated as absent: code and message stay. */
function detailsOf(bytes) {
  const found = {};
  try {
    for (const packed of bytes ? details.Status.decode(bytes).details : []) {
      const kind = packed.typeUrl.split("/").pop().replace("google.rpc.", "");
      if (KINDS.includes(kind) && !(kind in found)) found[kind] = details[kind].decode(packed.value);
    }
  } catch {
    return {};
  }
  return found;
}

function describe(code, reason, message, fields) {
  // The service's message names the first wrong fields, too.
  const others = Object.entries(fields).map(([field, problem]) => `${field}: ${problem}`).filter((text) => !message.includes(text));
  return `${code}${reason ? ` (${reason})` : ""}: ${[message, ...others].join("; ")}`;
}

module.exports = {
  Aborted, CODES, Cancelled, DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound, OutOfRange, PermissionDenied,
  ResourceExhausted, TouchstoneError, Unauthenticated, Unavailable,
};
