"use strict";
// A server of gRPC whose answers a test chooses.

const http2 = require("node:http2");

const { methods } = require("../generated/methods.js");

const byPath = new Map(methods.map((method) => [method.path, method]));

/**
 * Serves on a free port. `handle` gets { name, headers, stream, count }, where `count` is the call's number among those of the
 * method, and returns an answer's fields, or { code, message, trailers } for an error; undefined: it has the stream itself.
 */
async function serve(handle, { secure } = {}) {
  const server = secure ? http2.createSecureServer(secure) : http2.createServer();
  const calls = [];
  const sessions = new Set();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", async (stream, headers) => {
    stream.on("error", () => {});
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const method = byPath.get(headers[":path"]);
    calls.push({ name: method.name, headers, body: Buffer.concat(chunks).subarray(5) });
    const count = calls.filter((call) => call.name === method.name).length;
    const answer = await handle({ name: method.name, headers, stream, count, method });
    if (answer === undefined) return;
    if (answer.code !== undefined) refuse(stream, answer);
    else respond(stream, [frame(Buffer.from(answer.bytes ?? []))]);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    calls, sessions,
    port: server.address().port,
    target: `127.0.0.1:${server.address().port}`,
    close: () => new Promise((resolve) => {
      for (const session of sessions) session.destroy();
      server.close(resolve);
    }),
  };
}

function frame(message) {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function respond(stream, frames, status = { "grpc-status": "0" }) {
  if (stream.destroyed) return;
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(status));
  for (const one of frames) stream.write(one);
  stream.end();
}

function refuse(stream, { code, message = "", trailers = {} }) {
  if (stream.destroyed) return;
  const headers = { ":status": 200, "content-type": "application/grpc", "grpc-status": String(code), "grpc-message": message };
  stream.respond({ ...headers, ...trailers }, { endStream: true });
}

module.exports = { frame, refuse, respond, serve };
