"use strict";
// Calls over gRPC (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md), with their deadlines and retries.

const http2 = require("node:http2");

const { methods } = require("../generated/methods.js");
const { Connections } = require("./connections.js");
const { CODES, TouchstoneError } = require("./errors.js");

const PREFIX_BYTES = 5;
const MAXIMUM_MESSAGE_BYTES = 4 << 20;
const DEFAULT_MILLISECONDS = 10_000;
/** gRPC's longest timeout in milliseconds has eight digits. */
const MAXIMUM_MILLISECONDS = 99_999_999;

const MAXIMUM_ATTEMPTS = 3;
const FIRST_RETRY_MILLISECONDS = 100;
const LAST_RETRY_MILLISECONDS = 2_000;
/** While most calls fail, the client makes fewer retries (gRFC A6). */
const MAXIMUM_TOKENS = 10;
const TOKENS_OF_SUCCESS = 0.1;

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = http2.constants;
/** github.com/grpc/grpc, doc/http-grpc-status-mapping.md. */
const CODES_OF_HTTP = {
  400: "INTERNAL", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "UNIMPLEMENTED", 429: "UNAVAILABLE", 502: "UNAVAILABLE",
  503: "UNAVAILABLE", 504: "UNAVAILABLE",
};
const OPTIONS = ["applicationId", "key", "tls", "timeout", "languages", "balancing", "metadata"];
const CALL_OPTIONS = ["timeout", "languages", "signal", "metadata"];

/** Calls a service. It has a method for each method of the API. */
class Client {
  #connections;
  #key;
  #metadata;
  #tokens = MAXIMUM_TOKENS;

  constructor(target, options = {}) {
    requireKnown(options, OPTIONS);
    const { applicationId = "", key = "", tls, timeout = DEFAULT_MILLISECONDS, languages = "", balancing, metadata = {} } = options;
    this.#connections = new Connections(target, { tls, balancing });
    if (key && !tls && !this.#connections.isLocal) {
      throw new TypeError(`no key is sent to ${target} in plaintext: give the client tls`);
    }
    requireHeader("key", key);
    requireHeader("languages", languages);
    requireMetadata(metadata);
    requireTimeout(timeout);
    this.#key = key;
    this.#metadata = { ...metadata };
    Object.assign(this, { applicationId, timeout, languages });
  }

  /** Ends all connections, and running calls with them. */
  close() {
    this.#connections.close();
  }

  // MARK: Calls

  async #unary(method, request, options) {
    const deadline = Date.now() + (options.timeout ?? this.timeout);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const answer = await this.#attempt(method, request, options, deadline);
        this.#tokens = Math.min(MAXIMUM_TOKENS, this.#tokens + TOKENS_OF_SUCCESS);
        return answer;
      } catch (error) {
        const delay = this.#retryDelay(method, error, attempt);
        if (delay === undefined || Date.now() + delay >= deadline) throw error;
        await sleep(delay, options.signal);
      }
    }
  }

  /** Returns the milliseconds to the next attempt, or undefined if there is none. A call that never reached the service had no effect. */
  #retryDelay(method, error, attempt) {
    const isRetryable = error.code === "ABORTED" || (error.code === "UNAVAILABLE" && (method.mayRepeat || error.isUnprocessed));
    if (!isRetryable) return undefined;
    this.#tokens = Math.max(0, this.#tokens - 1);
    if (attempt >= MAXIMUM_ATTEMPTS || this.#tokens <= MAXIMUM_TOKENS / 2) return undefined;
    const { pushback } = error;
    if (pushback !== undefined) return /^[0-9]{1,9}$/.test(pushback) ? Number(pushback) : undefined;
    return Math.random() * Math.min(FIRST_RETRY_MILLISECONDS * 2 ** (attempt - 1), LAST_RETRY_MILLISECONDS);
  }

  #attempt(method, request, options, deadline) {
    return new Promise((resolve, reject) => {
      let stream, connection;
      const finish = (settle, value) => {
        clearTimeout(timer);
        options.signal?.removeEventListener("abort", abort);
        settle(value);
      };
      const end = (code, message) => {
        finish(reject, TouchstoneError.of(code, message));
        stream?.close(NGHTTP2_CANCEL);
      };
      const abort = () => end("CANCELLED", "the caller cancelled the call");
      const timer = setTimeout(() => {
        end("DEADLINE_EXCEEDED", "no answer came in time");
        connection?.test();
      }, Math.max(0, deadline - Date.now()));
      options.signal?.addEventListener("abort", abort);
      if (options.signal?.aborted) return abort();
      this.#connections.pick().then((picked) => {
        // The deadline may have passed meanwhile.
        if (Date.now() >= deadline || options.signal?.aborted) return;
        connection = picked;
        stream = this.#open(connection, method, request, options, deadline);
        const messages = [];
        const deframer = new Deframer();
        stream.on("data", (chunk) => {
          try {
            messages.push(...deframer.push(chunk));
            if (messages.length > 1) throw TouchstoneError.of("INTERNAL", "several answers came, not one");
          } catch (error) {
            finish(reject, error);
            stream.close(NGHTTP2_CANCEL);
          }
        });
        receiveStatus(stream).then(
          () => finish(...onlyAnswer(method, messages, resolve, reject)),
          (error) => finish(reject, error),
        );
      }).catch((error) => {
        error.isUnprocessed = true;
        finish(reject, error);
      });
    });
  }

  /** Sends the request. */
  #open(connection, method, request, options, deadline) {
    const headers = {
      ...this.#metadata, ...options.metadata,
      ":method": "POST", ":path": method.path, te: "trailers", "content-type": "application/grpc",
      "user-agent": "touchstone-client-node",
    };
    if (deadline !== undefined) headers["grpc-timeout"] = `${Math.max(1, deadline - Date.now())}m`;
    if (this.#key) headers.authorization = `Bearer ${this.#key}`;
    const languages = options.languages ?? this.languages;
    if (languages) headers["accept-language"] = languages;
    let stream;
    try {
      stream = connection.request(headers);
    } catch (cause) {
      throw TouchstoneError.of("UNAVAILABLE", `the connection is gone: ${cause.message}`);
    }
    const prefix = Buffer.alloc(PREFIX_BYTES);
    prefix.writeUInt32BE(request.byteLength, 1);
    stream.end(Buffer.concat([prefix, request]));
    return stream;
  }

  /** Returns the request's bytes. Throws a TypeError for options and fields that cannot be sent. */
  #encode(method, fields, options) {
    requireKnown(options, CALL_OPTIONS);
    requireHeader("languages", options.languages ?? "");
    requireMetadata(options.metadata);
    if (options.timeout !== undefined) requireTimeout(options.timeout);
    return method.request.encode(filled(method, fields, this.applicationId));
  }

  static {
    for (const method of methods) {
      const call = {
        async [method.name](fields = {}, options = {}) {
          return this.#unary(method, this.#encode(method, fields, options), options);
        },
      };
      const watch = {
        [method.name](fields = {}, options = {}) {
          const request = this.#encode(method, fields, options);
          const open = async () => this.#open(await this.#connections.pick(), method, request, options);
          return new Stream(method, open, options.signal);
        },
      };
      const value = (method.isStream ? watch : call)[method.name];
      Object.defineProperty(this.prototype, method.name, { value, writable: true, configurable: true });
    }
  }
}

/** A stream of answers for `for await`. Leaving the loop cancels the call. */
class Stream {
  #method;
  #open;
  #signal;
  #stream;
  #isCancelled = false;

  constructor(method, open, signal) {
    this.#method = method;
    this.#open = open;
    this.#signal = signal;
  }

  cancel() {
    this.#isCancelled = true;
    this.#stream?.close(NGHTTP2_CANCEL);
  }

  async *[Symbol.asyncIterator]() {
    if (this.#stream !== undefined) throw new TypeError("a stream is read once");
    const cancel = () => this.cancel();
    this.#signal?.addEventListener("abort", cancel);
    try {
      if (this.#isCancelled || this.#signal?.aborted) return;
      this.#stream = await this.#open();
      if (this.#isCancelled) this.#stream.close(NGHTTP2_CANCEL);
      const status = receiveStatus(this.#stream);
      status.catch(() => {});
      const deframer = new Deframer();
      try {
        for await (const chunk of this.#stream.iterator({ destroyOnReturn: false })) {
          for (const message of deframer.push(chunk)) yield decoded(this.#method, message);
        }
      } catch (error) {
        if (this.#isCancelled) return;
        // The cause says more than the early end of the stream.
        if (error instanceof TouchstoneError) throw error;
      }
      try {
        await status;
      } catch (error) {
        if (!this.#isCancelled) throw error;
      }
    } finally {
      this.#signal?.removeEventListener("abort", cancel);
      this.cancel();
    }
  }
}

// MARK: Requests

/** Returns the fields, with the client's application if the request has none. */
function filled(method, fields, applicationId) {
  const [outer, inner] = method.application;
  if (!applicationId || !outer || fields === null || typeof fields !== "object") return fields;
  if (inner === undefined) return { ...fields, [outer]: fields[outer] || applicationId };
  return { ...fields, [outer]: { ...fields[outer], [inner]: fields[outer]?.[inner] || applicationId } };
}

function requireMetadata(metadata = {}) {
  for (const [name, value] of Object.entries(metadata)) {
    if (!/^[a-z0-9_.-]+$/.test(name) || name.startsWith("grpc-") || name.endsWith("-bin") || RESERVED.has(name)) {
      throw new TypeError(`metadata ${name} is not the caller's to set`);
    }
    requireHeader(`metadata ${name}`, value);
  }
}

const RESERVED = new Set(["te", "content-type", "user-agent", "authorization", "accept-language", "connection", "host"]);

/** Refuses a value that no header can hold. Node's own error might quote it, and it may be the key. */
function requireHeader(name, value) {
  if (typeof value !== "string" || !/^[\x20-\x7e]*$/.test(value)) {
    throw new TypeError(`${name} has a line break or another character that no header has`);
  }
}

function requireTimeout(timeout) {
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > MAXIMUM_MILLISECONDS) {
    throw new TypeError(`timeout is in milliseconds, from 1 to ${MAXIMUM_MILLISECONDS}`);
  }
}

function requireKnown(options, known) {
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new TypeError(`there is no option ${unknown.join(", ")}; there are ${known.join(", ")}`);
}

function sleep(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
  });
}

// MARK: Answers

/** Takes a stream's bytes apart into messages. */
class Deframer {
  #bytes = Buffer.alloc(0);

  push(chunk) {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const messages = [];
    while (this.#bytes.length >= PREFIX_BYTES) {
      const length = this.#bytes.readUInt32BE(1);
      if (this.#bytes[0] !== 0) throw TouchstoneError.of("INTERNAL", "the answer is compressed, which was not asked for");
      if (length > MAXIMUM_MESSAGE_BYTES) {
        throw TouchstoneError.of("RESOURCE_EXHAUSTED", `the answer has ${length} bytes, more than ${MAXIMUM_MESSAGE_BYTES}`);
      }
      if (this.#bytes.length < PREFIX_BYTES + length) break;
      messages.push(this.#bytes.subarray(PREFIX_BYTES, PREFIX_BYTES + length));
      this.#bytes = this.#bytes.subarray(PREFIX_BYTES + length);
    }
    return messages;
  }
}

/** Resolves when the stream ended with the status OK, and rejects with any other. */
function receiveStatus(stream) {
  return new Promise((resolve, reject) => {
    let headers, trailers;
    stream.on("response", (received) => {
      headers = received;
    });
    stream.on("trailers", (received) => {
      trailers = received;
    });
    // The code of the reset says why.
    stream.on("error", () => {});
    stream.on("close", () => {
      const error = statusError(headers, trailers, stream.rstCode);
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Returns the error of a status, or undefined for OK. */
function statusError(headers, trailers, resetCode) {
  const status = trailers?.["grpc-status"] !== undefined ? trailers : headers;
  if (status?.["grpc-status"] !== undefined) {
    const code = CODES[Number(status["grpc-status"])] ?? "UNKNOWN";
    if (code === "OK") return undefined;
    const packed = status["grpc-status-details-bin"];
    const details = packed === undefined ? undefined : Buffer.from(String(packed).split(",")[0], "base64");
    const error = TouchstoneError.of(code, percentDecoded(status["grpc-message"] ?? ""), details);
    error.pushback = status["grpc-retry-pushback-ms"];
    return error;
  }
  if (headers && headers[":status"] !== 200) {
    return TouchstoneError.of(CODES_OF_HTTP[headers[":status"]] ?? "UNKNOWN", `HTTP's status is ${headers[":status"]}`);
  }
  const error = TouchstoneError.of("UNAVAILABLE", "the connection ended before the answer");
  // The server did not begin such a stream (RFC 9113 §8.7).
  error.isUnprocessed = resetCode === NGHTTP2_REFUSED_STREAM;
  return error;
}

function percentDecoded(text) {
  const bytes = Buffer.from(text.replace(/%([0-9A-Fa-f]{2})/g, (_, digits) => String.fromCharCode(parseInt(digits, 16))), "latin1");
  return bytes.toString("utf8");
}

function onlyAnswer(method, messages, resolve, reject) {
  if (messages.length === 0) return [reject, TouchstoneError.of("INTERNAL", "no answer came")];
  try {
    return [resolve, decoded(method, messages[0])];
  } catch (error) {
    return [reject, error];
  }
}

function decoded(method, bytes) {
  try {
    return method.response.decode(bytes);
  } catch (error) {
    throw TouchstoneError.of("INTERNAL", `the answer cannot be read: ${error.message}`);
  }
}

module.exports = { Client, Stream };
