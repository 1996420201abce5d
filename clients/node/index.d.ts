// Client for Touchstone, the server side of Touch ID, Face ID and gesture login.

import type * as messages from "./generated/messages.js";
import type { Methods } from "./generated/methods.js";

/** The messages of the API. If the service both receives and sends a message, the form that a program sends has the suffix Init. */
export type { messages };

export interface TLSOptions {
  /** The authorities of the service's certificate, as PEM. Default: those that Node has. */
  ca?: string | Uint8Array | Array<string | Uint8Array>;
  /** The caller's own certificate and its key, as PEM, for mutual TLS. */
  cert?: string | Uint8Array;
  key?: string | Uint8Array;
  passphrase?: string;
  /** The name in the service's certificate, if it is not the target's. */
  servername?: string;
}

export interface ClientOptions {
  /** The application of each request that names none. */
  applicationId?: string;
  /** The caller's key, as `touchstone callers new-key` printed it. It is never sent to another machine in plaintext. */
  key?: string;
  /** Without it, calls go in plaintext, which the service takes on its own machine alone. */
  tls?: TLSOptions;
  /** Milliseconds from a call to its answer, with all retries. Default: 10,000. */
  timeout?: number;
  /** The languages of texts for the person, as in Accept-Language: "zh-Hans, en;q=0.5". */
  languages?: string;
  /** "round_robin" shares calls among the target's addresses. Without it all calls go to one address that answers. */
  balancing?: "round_robin";
  /** Headers of each call. */
  metadata?: { [name: string]: string };
}

/** The part of an AbortSignal that the client needs. */
export interface Signal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface CallOptions {
  timeout?: number;
  languages?: string;
  /** Cancels the call. */
  signal?: Signal;
  /** Headers of the call: `traceparent` makes it a part of a trace. */
  metadata?: { [name: string]: string };
}

export interface Client extends Methods {}

/** Calls a service. It has a method for each method of the API. Each throws `TouchstoneError` if there is no answer. */
export class Client {
  /**
   * Connects at the first call.
   *
   * - target: "host:port", "unix:path", "dns:///host:port", "ipv4:10.0.0.1:7443,10.0.0.2:7443", or a list of these. A host
   *   stands for all addresses of its name. No proxy of the environment gets a call.
   */
  constructor(target: string | string[], options?: ClientOptions);
  applicationId: string;
  timeout: number;
  languages: string;
  /** Ends all connections, and running calls with them. */
  close(): void;
}

/** A stream of answers, read once by `for await`. Leaving the loop cancels the call. */
export class Stream<Answer> implements AsyncIterable<Answer> {
  private constructor();
  [Symbol.asyncIterator](): AsyncIterator<Answer>;
  cancel(): void;
}

export type Code =
  | "CANCELLED" | "UNKNOWN" | "INVALID_ARGUMENT" | "DEADLINE_EXCEEDED" | "NOT_FOUND" | "ALREADY_EXISTS" | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED" | "FAILED_PRECONDITION" | "ABORTED" | "OUT_OF_RANGE" | "UNIMPLEMENTED" | "INTERNAL" | "UNAVAILABLE"
  | "DATA_LOSS" | "UNAUTHENTICATED";

/** A call without an answer: the service refused it, or the call did not reach it. */
export class TouchstoneError extends Error {
  protected constructor();
  /** The name of gRPC's code. */
  code: Code;
  /** The cause, for a program: upper snake case, never changed; empty if the service gave none (ErrorInfo). */
  reason: string;
  /** The data that the reason comes with: "first_sequence" and so on. */
  metadata: { [key: string]: string };
  /** The fault of each wrong field, by its path in the .proto files: "posture.domain_state" (BadRequest). */
  fields: { [path: string]: string };
  /** The time to wait before the next try, in milliseconds (RetryInfo). */
  retryAfter?: number;
  /** The limits that were reached, and whose they are: "application:shop" (QuotaFailure). */
  quotas: string[];
  /** A text for the person, if the refusal concerns them, in the language of the call (LocalizedMessage). */
  text: string;
}

/** The credentials belong to no known caller. */
export class Unauthenticated extends TouchstoneError {}
/** The caller is not granted the method or the application. */
export class PermissionDenied extends TouchstoneError {}
/** Fields are wrong or missing: `fields` names them. */
export class InvalidArgument extends TouchstoneError {}
/** The present state does not allow the call: `reason` says why. */
export class FailedPrecondition extends TouchstoneError {}
/** The object is unknown, or another application's. */
export class NotFound extends TouchstoneError {}
/** The audit log does not have the place: EVENTS_ARCHIVED or BEYOND_LOG_END. */
export class OutOfRange extends TouchstoneError {}
/** Too many calls changed one record at once. Nothing was done. */
export class Aborted extends TouchstoneError {}
/** The service cannot take the call now, or is out of reach. */
export class Unavailable extends TouchstoneError {}
/** A limit was reached: `quotas` names it. */
export class ResourceExhausted extends TouchstoneError {}
/** No answer came in time. The call may have had its effect. */
export class DeadlineExceeded extends TouchstoneError {}
/** The caller's signal cancelled the call. */
export class Cancelled extends TouchstoneError {}
