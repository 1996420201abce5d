"use strict";
// Connections of HTTP/2 to the addresses of a target: one to each, made when a call needs it.

const dns = require("node:dns/promises");
const http2 = require("node:http2");
const net = require("node:net");

const { TouchstoneError } = require("./errors.js");

const CONNECT_MILLISECONDS = 5_000;
/** The waits between attempts to connect to an address that refuses: each is twice the one before, from the first to the last. */
const FIRST_BACKOFF_MILLISECONDS = 100;
const LAST_BACKOFF_MILLISECONDS = 10_000;
/** A connection that answers no ping within this time is dead. */
const PING_MILLISECONDS = 5_000;
/** The settings of Node's TLS that a caller may give. None switches off the check of the service's certificate. */
const TLS_OPTIONS = ["ca", "cert", "key", "passphrase", "servername"];

/** Returns the addresses of "host:port", "dns:///host:port", "ipv4:1.2.3.4:7443,…", "ipv6:[::1]:7443,…", "unix:path", or a list of these. */
function parseTarget(target) {
  if (Array.isArray(target)) return target.flatMap(parseTarget);
  if (typeof target !== "string" || target === "") throw new TypeError("the target must be a text, or a list of texts");
  const [, scheme, rest] = /^(unix|dns|ipv4|ipv6):(.*)$/s.exec(target) ?? [undefined, "", target];
  if (scheme === "unix") return [{ path: rest.startsWith("///") ? rest.slice(2) : rest }];
  const names = scheme === "dns" ? rest.replace(/^\/\/\//, "") : rest;
  if (names.startsWith("//")) throw new TypeError(`the target ${target} names a DNS server, which is not served`);
  return names.split(",").map(parseAddress);
}

function parseAddress(text) {
  const found = /^(?:\[([0-9A-Fa-f:.%]+)\]|([^[\]:/@\s]+)):([0-9]{1,5})$/.exec(text);
  if (!found || Number(found[3]) > 65_535) throw new TypeError(`${text} is no address: name host and port, as in 127.0.0.1:7443`);
  return { host: found[1] ?? found[2], port: Number(found[3]) };
}

/** Returns whether an address leads to this machine alone. */
function isLocal({ path, host }) {
  if (path !== undefined || host === "localhost" || host === "::1") return true;
  return net.isIPv4(host) && host.startsWith("127.");
}

/** A connection to one address. It is made again after a loss. */
class Connection {
  /** The number of running calls of each session. */
  calls = new WeakMap();
  session;
  connecting;
  failures = 0;
  retryAt = 0;
  lastError;
  pinging = false;

  /** `onLoss` runs when the connection was lost, or is about to go away. */
  constructor(address, tls, onLoss) {
    this.address = address;
    this.tls = tls;
    this.onLoss = onLoss;
  }

  get isReady() {
    return this.session !== undefined;
  }

  /** Resolves when calls can be sent. After a failure it rejects at once until the next attempt is due. */
  connect() {
    if (this.isReady) return Promise.resolve(this);
    if (this.retryAt > Date.now()) return Promise.reject(this.lastError);
    this.connecting ??= this.open().finally(() => {
      this.connecting = undefined;
    });
    return this.connecting;
  }

  open() {
    return new Promise((resolve, reject) => {
      const session = this.newSession();
      let isSettled = false;
      const fail = (error) => {
        clearTimeout(timer);
        session.destroy();
        this.leave(session);
        if (isSettled) return;
        isSettled = true;
        this.failed(error);
        reject(error);
      };
      const timer = setTimeout(() => fail(new Error("the connection took too long")), CONNECT_MILLISECONDS);
      session.on("error", fail);
      session.on("close", () => fail(new Error("the connection was closed")));
      // Running calls go on; new ones need another connection.
      session.on("goaway", () => this.leave(session));
      session.once("connect", () => {
        if (this.tls && session.alpnProtocol !== "h2") return fail(new Error("the server does not speak HTTP/2"));
        clearTimeout(timer);
        isSettled = true;
        this.session = session;
        this.failures = 0;
        this.count(session, 0);
        resolve(this);
      });
    });
  }

  newSession() {
    const { path, host, port } = this.address;
    const name = path === undefined ? (net.isIPv6(host) ? `[${host}]` : host) : "localhost";
    const settings = { enablePush: false };
    if (path !== undefined) return http2.connect("http://localhost", { settings, createConnection: () => net.connect(path) });
    if (!this.tls) return http2.connect(`http://${name}:${port}`, { settings });
    return http2.connect(`https://${name}:${port}`, { settings, ...this.tls, rejectUnauthorized: true });
  }

  leave(session) {
    if (this.session !== session) return;
    this.session = undefined;
    this.count(session, 0);
    this.onLoss();
  }

  failed(error) {
    this.lastError = error;
    const backoff = Math.min(FIRST_BACKOFF_MILLISECONDS * 2 ** this.failures, LAST_BACKOFF_MILLISECONDS);
    this.failures += 1;
    // A random part keeps clients from connecting all at one time.
    this.retryAt = Date.now() + backoff * (0.8 + 0.4 * Math.random());
  }

  /** Opens a stream. Throws if the connection has just gone away. */
  request(headers) {
    const { session } = this;
    const stream = session.request(headers);
    this.count(session, 1);
    stream.once("close", () => this.count(session, -1));
    return stream;
  }

  /** Lets the program end while no call is under way, and ends a session that takes no new calls and has none. */
  count(session, change) {
    const calls = (this.calls.get(session) ?? 0) + change;
    this.calls.set(session, calls);
    if (session.destroyed) return;
    if (calls > 0) session.ref();
    else if (session === this.session) session.unref();
    else session.destroy();
  }

  /** Pings the peer after a call had no answer in time: if the peer has vanished, later calls need another connection. */
  test() {
    const { session } = this;
    if (this.pinging || session === undefined || session.destroyed) return;
    this.pinging = true;
    const timer = setTimeout(() => session.destroy(), PING_MILLISECONDS);
    timer.unref();
    session.ping(() => {
      this.pinging = false;
      clearTimeout(timer);
    });
  }

  close() {
    this.retryAt = Infinity;
    this.lastError = new Error("the client is closed");
    this.session?.destroy();
  }
}

/** Chooses a connection for each call. */
class Connections {
  connections = new Map();
  isClosed = false;
  next = 0;
  addresses = [];
  isResolved = false;

  constructor(target, { tls, balancing = "" }) {
    if (!["", "round_robin"].includes(balancing)) throw new TypeError("balancing is round_robin, or absent");
    this.targets = parseTarget(target);
    this.isRoundRobin = balancing === "round_robin";
    this.tls = tls && Object.fromEntries(Object.entries(tls).filter(([name]) => TLS_OPTIONS.includes(name)));
    const unknown = Object.keys(tls ?? {}).filter((name) => !TLS_OPTIONS.includes(name));
    if (unknown.length > 0) throw new TypeError(`tls takes ${TLS_OPTIONS.join(", ")}, not ${unknown.join(", ")}`);
  }

  get isLocal() {
    return this.targets.every(isLocal);
  }

  /** Returns a connection that is ready: the next one in turn, or the first of the addresses that answers. */
  async pick() {
    let connections;
    try {
      connections = await this.all();
      return await this.ready(connections);
    } catch (error) {
      // A name may have other addresses by now.
      this.isResolved = false;
      const cause = error instanceof AggregateError ? error.errors[0] : error;
      throw TouchstoneError.of("UNAVAILABLE", `no connection to the service: ${cause.message}`);
    }
  }

  async ready(connections) {
    if (this.isRoundRobin) {
      const attempts = connections.map((one) => one.connect());
      for (const attempt of attempts) attempt.catch(() => {});
      if (!connections.some((one) => one.isReady)) return Promise.any(attempts);
    }
    const ready = connections.filter((one) => one.isReady);
    if (ready.length > 0) return ready[this.isRoundRobin ? this.next++ % ready.length : 0];
    let last;
    for (const one of connections) {
      try {
        return await one.connect();
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  async all() {
    if (this.isClosed) throw new Error("the client is closed");
    if (!this.isResolved) await this.resolve();
    const connections = this.addresses.map((address) => {
      const name = address.path ?? `${address.host} ${address.port}`;
      const onLoss = () => {
        this.isResolved = false;
      };
      if (!this.connections.has(name)) this.connections.set(name, new Connection(address, this.tlsFor(address), onLoss));
      return this.connections.get(name);
    });
    // A connection to an address that the name no longer has ends after its calls.
    for (const [name, connection] of this.connections) {
      if (connections.includes(connection)) continue;
      this.connections.delete(name);
      connection.session?.close();
    }
    return connections;
  }

  async resolve() {
    try {
      this.addresses = (await Promise.all(this.targets.map(resolve))).flat();
      this.isResolved = true;
    } catch (error) {
      // The earlier addresses may still serve.
      if (this.addresses.length === 0) throw error;
    }
  }

  tlsFor({ path, name }) {
    if (!this.tls || path !== undefined) return undefined;
    return name === undefined ? this.tls : { servername: name, ...this.tls };
  }

  close() {
    this.isClosed = true;
    for (const connection of this.connections.values()) connection.close();
  }
}

/** Returns all addresses of a name. TLS still needs the name. */
async function resolve(target) {
  if (target.path !== undefined || net.isIP(target.host)) return [target];
  const found = await dns.lookup(target.host, { all: true, verbatim: true });
  return found.map(({ address }) => ({ host: address, port: target.port, name: target.host }));
}

module.exports = { Connections };
