"use strict";
// Calls against a server of gRPC in this process.

const assert = require("node:assert/strict");
const net = require("node:net");
const test = require("node:test");

const touchstone = require("..");
const messages = require("../generated/messages.js");
const { frame, respond, serve } = require("./support.js");

const { Client } = touchstone;
const UNAVAILABLE = 14, ABORTED = 10;

/** A test with servers and clients that end with it. */
function withServers(name, body) {
  test(name, async () => {
    const ends = [];
    try {
      await body({
        serve: async (...given) => {
          const server = await serve(...given);
          ends.push(() => server.close());
          return server;
        },
        client: (...given) => {
          const client = new Client(...given);
          ends.push(() => client.close());
          return client;
        },
      });
    } finally {
      for (const end of ends.reverse()) await end();
    }
  });
}

/** The details of a status, as the service sends them. */
function details(...given) {
  const packed = given.map(([name, value]) => ({
    typeUrl: `type.googleapis.com/google.rpc.${name}`, value: messages[name].encode(value),
  }));
  return messages.Status.encode({ code: 9, details: packed }).toString("base64").replace(/=+$/, "");
}

withServers("A call has its method's path, its caller's headers, and the client's application", async ({ serve, client }) => {
  const server = await serve(({ method }) => ({ bytes: method.response.encode({ jwkSet: "{}" }) }));
  const caller = client(server.target, { applicationId: "shop", key: "tsk_secret", languages: "en" });
  const answer = await caller.getSigningKeys({}, { languages: "zh-Hans", metadata: { traceparent: "00-1" }, timeout: 5_000 });
  assert.equal(answer.jwkSet, "{}");
  const { headers } = server.calls[0];
  assert.equal(headers[":path"], "/touchstone.v1.TokenService/GetSigningKeys");
  assert.equal(headers.authorization, "Bearer tsk_secret");
  assert.equal(headers["accept-language"], "zh-Hans");
  assert.equal(headers.traceparent, "00-1");
  assert.match(headers["grpc-timeout"], /^[1-4]?[0-9]{1,3}m$/);
  assert.equal(headers.te, "trailers");
});

withServers("The application stands in the request, in its filter or in what it explains, unless it names one", async ({ serve, client }) => {
  const server = await serve(() => ({}));
  const caller = client(server.target, { applicationId: "shop" });
  await caller.getProfile({ profileId: "anna" });
  await caller.getProfile({ profileId: "anna", applicationId: "bank" });
  await caller.listEvents({ filter: { kinds: ["binding."] } });
  await caller.listEvents();
  await caller.explainEvaluation({ begin: { policy: "login" } });
  const [first, second, filtered, listed, explained] = server.calls.map((call) => call.body);
  assert.equal(messages.GetProfileRequest.decode(first).applicationId, "shop");
  assert.equal(messages.GetProfileRequest.decode(second).applicationId, "bank");
  assert.deepEqual(messages.ListEventsRequest.decode(filtered).filter.kinds, ["binding."]);
  assert.equal(messages.ListEventsRequest.decode(filtered).filter.applicationId, "shop");
  assert.equal(messages.ListEventsRequest.decode(listed).filter.applicationId, "shop");
  assert.equal(messages.ExplainEvaluationRequest.decode(explained).begin.applicationId, "shop");
});

withServers("No proxy of the environment gets a call", async ({ serve, client }) => {
  const asked = [];
  const proxy = net.createServer((socket) => asked.push(socket.destroy()));
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const names = ["http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"];
  try {
    for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.address().port}`;
    const server = await serve(() => ({}));
    await client(server.target).getSigningKeys();
    assert.deepEqual([server.calls.length, asked.length], [1, 0]);
  } finally {
    for (const name of names) delete process.env[name];
    proxy.close();
  }
});

withServers("A refusal has the class of its status, and every detail", async ({ serve, client }) => {
  const trailers = { "grpc-status-details-bin": details(
    ["ErrorInfo", { reason: "A_REASON", domain: "touchstone", metadata: { a: "b" } }],
    ["BadRequest", { fieldViolations: [{ field: "posture.platform", description: "is absent" }] }],
    ["RetryInfo", { retryDelay: 1500 }], ["QuotaFailure", { violations: [{ subject: "application:shop" }] }],
    ["LocalizedMessage", { locale: "zh-Hans", message: "请再次登录" }],
  ) };
  const server = await serve(() => ({ code: 9, message: "not %E2%9C%93 now", trailers }));
  await assert.rejects(client(server.target).getSigningKeys(), (error) => {
    assert.ok(error instanceof touchstone.FailedPrecondition && error instanceof touchstone.TouchstoneError);
    assert.equal(error.name, "FailedPrecondition");
    assert.deepEqual([error.code, error.reason, error.metadata], ["FAILED_PRECONDITION", "A_REASON", { a: "b" }]);
    assert.deepEqual([error.retryAfter, error.quotas, error.text], [1500, ["application:shop"], "请再次登录"]);
    assert.deepEqual(error.fields, { "posture.platform": "is absent" });
    assert.equal(error.message, "FAILED_PRECONDITION (A_REASON): not ✓ now; posture.platform: is absent");
    return true;
  });
  assert.equal(server.calls.length, 1);
});

withServers("Details that cannot be read are treated as absent", async ({ serve, client }) => {
  const server = await serve(() => ({ code: 5, message: "none", trailers: { "grpc-status-details-bin": "////" } }));
  await assert.rejects(client(server.target).getSigningKeys(), { name: "NotFound", reason: "", message: "NOT_FOUND: none" });
});

withServers("Every method is repeated after ABORTED, and after UNAVAILABLE only one that may happen twice", async ({ serve, client }) => {
  for (const [code, name, calls] of [
    [ABORTED, "submitAttempt", 2], [UNAVAILABLE, "submitAttempt", 1], [UNAVAILABLE, "beginEvaluation", 2], [9, "beginEvaluation", 1],
  ]) {
    const server = await serve(({ count }) => (count === 1 ? { code, message: "not yet" } : {}));
    const call = client(server.target)[name]({});
    await (calls === 2 ? call : assert.rejects(call));
    assert.equal(server.calls.length, calls, `${name} after ${code}`);
  }
});

withServers("Three attempts are the most, and the server may forbid another", async ({ serve, client }) => {
  const busy = await serve(() => ({ code: UNAVAILABLE }));
  await assert.rejects(client(busy.target).getSigningKeys(), { code: "UNAVAILABLE" });
  assert.equal(busy.calls.length, 3);
  const forbidding = await serve(() => ({ code: UNAVAILABLE, trailers: { "grpc-retry-pushback-ms": "-1" } }));
  await assert.rejects(client(forbidding.target).getSigningKeys(), { code: "UNAVAILABLE" });
  assert.equal(forbidding.calls.length, 1);
});

withServers("While most calls fail, none is repeated", async ({ serve, client }) => {
  const server = await serve(() => ({ code: UNAVAILABLE }));
  const caller = client(server.target);
  for (let call = 0; call < 10; call += 1) await assert.rejects(caller.getSigningKeys());
  assert.ok(server.calls.length < 17, `${server.calls.length} attempts of 10 calls`);
});

withServers("A call ends in time, and the server hears of it", async ({ serve, client }) => {
  let closed;
  const server = await serve(({ stream }) => {
    closed = new Promise((resolve) => stream.on("close", () => resolve(stream.rstCode)));
  });
  const began = Date.now();
  await assert.rejects(client(server.target).getSigningKeys({}, { timeout: 100 }), { name: "DeadlineExceeded" });
  assert.ok(Date.now() - began < 5_000);
  assert.equal(await closed, 8);
});

withServers("A signal cancels a call, before it and while it runs", async ({ serve, client }) => {
  const server = await serve(() => undefined);
  const caller = client(server.target);
  const controller = new AbortController();
  const call = caller.getSigningKeys({}, { signal: controller.signal });
  while (server.calls.length === 0) await new Promise(setImmediate);
  controller.abort();
  await assert.rejects(call, { name: "Cancelled" });
  await assert.rejects(caller.getSigningKeys({}, { signal: controller.signal }), { name: "Cancelled" });
});

withServers("No connection is UNAVAILABLE, and a call that never left is repeated whatever it does", async ({ serve, client }) => {
  const server = await serve(() => ({}));
  await server.close();
  const caller = client(server.target, { timeout: 2_000 });
  await assert.rejects(caller.submitAttempt({}), { code: "UNAVAILABLE" });
});

withServers("A call ends in time at an address that accepts and is silent", async ({ client }) => {
  const silent = net.createServer(() => {});
  await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const caller = client(`127.0.0.1:${silent.address().port}`, { timeout: 200 });
  await assert.rejects(caller.getSigningKeys(), { code: "DEADLINE_EXCEEDED" });
  caller.close();
  silent.close();
});

withServers("Calls are shared among addresses if that is wanted, and go on without one of them", async ({ serve, client }) => {
  for (const [balancing, serving] of [[undefined, 1], ["round_robin", 2]]) {
    const servers = [await serve(() => ({})), await serve(() => ({}))];
    const caller = client(`ipv4:${servers.map((one) => one.target).join(",")}`, { balancing });
    await caller.getSigningKeys();
    // Both connections are made by the first call.
    while (balancing && servers.some((one) => one.sessions.size === 0)) await new Promise(setImmediate);
    for (let call = 0; call < 20; call += 1) await caller.getSigningKeys();
    assert.equal(servers.filter((one) => one.calls.length > 0).length, serving);
    await servers[0].close();
    for (let call = 0; call < 4; call += 1) await caller.getSigningKeys();
  }
});

withServers("A name is looked up again when a connection is lost, and keeps its addresses if it has none then", async ({ serve, client }) => {
  const dns = require("node:dns/promises");
  const { lookup } = dns;
  const first = await serve(() => ({}));
  const asked = [];
  dns.lookup = async (name) => {
    asked.push(name);
    if (asked.length > 2) throw new Error("no such name");
    return [{ address: "127.0.0.1", family: 4 }];
  };
  try {
    const caller = client(`dns:///shop.example.org:${first.port}`);
    await caller.getSigningKeys();
    await caller.getSigningKeys();
    assert.deepEqual(asked, ["shop.example.org"]);
    for (let loss = 2; loss <= 4; loss += 1) {
      for (const session of first.sessions) session.close();
      while (first.sessions.size > 0) await new Promise(setImmediate);
      await caller.getSigningKeys();
      assert.equal(asked.length, loss);
    }
  } finally {
    dns.lookup = lookup;
  }
});

withServers("A connection that is going away takes no new calls, and its running ones end well", async ({ serve, client }) => {
  // The server of Node 18 sends no trailers after GOAWAY.
  if (process.versions.node.startsWith("18.")) return;
  let release;
  const server = await serve(({ stream, name }) => {
    if (name !== "getSigningKeys") return {};
    release = () => respond(stream, [frame(Buffer.alloc(0))]);
    return undefined;
  });
  const caller = client(server.target);
  const running = caller.getSigningKeys();
  while (release === undefined) await new Promise(setImmediate);
  const [before] = server.sessions;
  before.close();
  await caller.getProfile({});
  assert.ok(server.sessions.size >= 1);
  release();
  await running;
});

withServers("A stream gives messages as they come, and its end cancels the call", async ({ serve, client }) => {
  let closed;
  const server = await serve(({ stream, method }) => {
    closed = new Promise((resolve) => stream.on("close", () => resolve(stream.rstCode)));
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    const both = Buffer.concat([1n, 2n].map((sequence) => frame(method.response.encode({ event: { sequence } }))));
    // In pieces that are no messages.
    stream.write(both.subarray(0, 7));
    setImmediate(() => stream.write(both.subarray(7)));
  });
  const seen = [];
  for await (const { event } of client(server.target).watchEvents({ afterSequence: 1n })) {
    seen.push(event.sequence);
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, [1n, 2n]);
  assert.equal(await closed, 8);
});

withServers("A stream ends with its status, or without one if the caller cancels it", async ({ serve, client }) => {
  const server = await serve(({ stream, count }) => {
    if (count === 1) return { code: 11, message: "beyond" };
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    return undefined;
  });
  const caller = client(server.target);
  await assert.rejects(async () => {
    for await (const _ of caller.watchEvents()) assert.fail();
  }, { name: "OutOfRange" });
  const stream = caller.watchEvents();
  setTimeout(() => stream.cancel(), 50);
  for await (const _ of stream) assert.fail();
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 50);
  for await (const _ of caller.watchEvents({}, { signal: controller.signal })) assert.fail();
});

withServers("A stream that breaks off says so", async ({ serve, client }) => {
  const server = await serve(({ stream }) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    setImmediate(() => stream.session.destroy());
  });
  await assert.rejects(async () => {
    for await (const _ of client(server.target).watchEvents()) assert.fail();
  }, { code: "UNAVAILABLE" });
});

withServers("What is no answer of gRPC is an error", async ({ serve, client }) => {
  for (const [answer, code] of [
    [(stream) => stream.respond({ ":status": 503 }, { endStream: true }), "UNAVAILABLE"],
    [(stream) => stream.respond({ ":status": 404 }, { endStream: true }), "UNIMPLEMENTED"],
    [(stream) => respond(stream, []), "INTERNAL"],
    [(stream) => respond(stream, [frame(Buffer.alloc(0)), frame(Buffer.alloc(0))]), "INTERNAL"],
    [(stream) => respond(stream, [frame(Buffer.from([255, 255]))]), "INTERNAL"],
    [(stream) => respond(stream, [Buffer.from([1, 0, 0, 0, 0])]), "INTERNAL"],
    [(stream) => respond(stream, [Buffer.from([0, 255, 0, 0, 0])]), "RESOURCE_EXHAUSTED"],
  ]) {
    const server = await serve(({ stream }) => void answer(stream));
    await assert.rejects(client(server.target, { timeout: 5_000 }).submitAttempt(), { code });
  }
});

test("No key goes to another machine in plaintext", () => {
  for (const target of [
    "localhost:7443", "127.0.0.1:7443", "[::1]:7443", "unix:/run/touchstone.sock", "dns:///localhost:7443",
    "ipv4:127.0.0.1:7443,127.0.0.2:7443", ["127.0.0.1:1", "127.0.0.1:2"],
  ]) new Client(target, { key: "tsk_secret" }).close();
  for (const target of [
    "touchstone:7443", "10.0.0.1:7443", "127.0.0.1.example.org:7443", "localhost.example.org:1", "dns:///touchstone:7443",
    "ipv4:127.0.0.1:7443,10.0.0.1:7443", "[fe80::1]:7443", ["127.0.0.1:1", "touchstone:2"],
  ]) {
    assert.throws(() => new Client(target, { key: "tsk_secret" }), (error) => /plaintext/.test(error) && !/tsk_/.test(error));
    new Client(target).close();
  }
});

test("What no header holds is refused without the key in the error", () => {
  for (const bad of ["tsk_secret\n", "tsk_secret\0", "tsk_secreté"]) {
    for (const options of [{ key: bad }, { key: "tsk_secret", languages: bad }]) {
      assert.throws(() => new Client("localhost:1", options), (error) => /no header has/.test(error) && !/tsk_/.test(error));
    }
  }
});

test("Mistakes in options and requests are told before anything is sent", async () => {
  assert.throws(() => new Client("localhost"), /no address/);
  assert.throws(() => new Client("dns://server/localhost:1"), /DNS server/);
  assert.throws(() => new Client("localhost:1", { applicationID: "shop" }), /applicationID/);
  assert.throws(() => new Client("localhost:1", { balancing: "random" }), /round_robin/);
  assert.throws(() => new Client("localhost:1", { tls: { rejectUnauthorized: false } }), /rejectUnauthorized/);
  assert.throws(() => new Client("localhost:1", { timeout: 0 }), /timeout/);
  const client = new Client("localhost:1", { applicationId: "shop" });
  for (const [fields, problem] of [
    [{ postur: {} }, /postur: is no field of touchstone.v1.BeginEvaluationRequest/],
    [{ posture: { domainState: "abc" } }, /posture.domainState: must be a Buffer/],
    [{ posture: { biometryType: "TOUCH_ID" } }, /posture.biometryType: has no value "TOUCH_ID"/],
    [{ policy: 1 }, /policy: must be a string/],
  ]) await assert.rejects(client.beginEvaluation(fields), { name: "TypeError", message: problem });
  await assert.rejects(client.submitAttempt({ key: {}, passcode: {} }), /passcode: excludes key/);
  await assert.rejects(client.getSigningKeys({}, { metadata: { authorization: "x" } }), /not the caller's to set/);
});
