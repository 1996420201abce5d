// Stand-ins of a backend with its service, of a device with its key, of React Native's wrapper, and of a browser's passkeys.

import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID, webcrypto } from "node:crypto";

const { subtle } = webcrypto;
const base64url = (bytes) => Buffer.from(bytes).toString("base64url");
const bytes = (text) => Buffer.from(text, "base64url");

function encoded(...fields) {
  return Buffer.concat(fields.flatMap((field) => {
    const content = Buffer.from(field);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(content.length);
    return [length, content];
  }));
}

/** Answers as a backend relays them, and verifies signatures. `changes` are lies of the backend: functions of what it would have sent. */
export class Service {
  constructor({ application = "shop", profile = "alice" } = {}) {
    Object.assign(this, { application, profile, calls: [], lies: {}, answers: [], bindings: new Map(), accepted: ["YmVmb3Jl", "bmV3"] });
  }

  lie(name, content) {
    return { ...content, ...this.lies[name]?.(content) };
  }

  async beginBinding(request) {
    this.calls.push(["beginBinding", request]);
    const content = this.lie("binding", {
      challenge: randomBytes(32), application: this.application, profile: this.profile, device: request.deviceId ?? "",
    });
    const input = encoded("touchstone binding v1", content.challenge, content.application, content.profile, content.device);
    this.ticket = { challenge: content.toldChallenge ?? content.challenge, input };
    const begun = { ticket: "dGlja2V0", challenge: base64url(this.ticket.challenge), signingInput: base64url(input) };
    if (request.passkey) {
      begun.passkeyOptions = JSON.stringify({
        rp: { id: "localhost" }, user: { id: base64url("user-1"), name: "alice" }, challenge: base64url(this.digest(input)),
        excludeCredentials: [{ type: "public-key", id: base64url("before") }], ...content.options,
      });
    }
    return begun;
  }

  async completeBinding(request) {
    this.calls.push(["completeBinding", request]);
    const binding_id = `b_${randomUUID()}`;
    for (const key of request.keys ?? []) {
      assert.ok(await verifies(key, this.ticket.input, key.signature, key.signatureForm), "the new key signs the ticket");
      this.bindings.set(binding_id, key);
    }
    return { binding: { bindingId: binding_id }, advisories: ["NO_RECOVERY_FACTOR"], ...this.lies.bound };
  }

  async beginEvaluation({ policy, transaction, bindingId: binding_id = "", ...request }) {
    this.calls.push(["beginEvaluation", { policy, transaction, binding_id, ...request }]);
    const content = this.lie("evaluation", {
      challenge: randomBytes(32), application: this.application, binding: binding_id, policy, purpose: transaction ? "payment" : "login", transaction,
    });
    if (content.denial) return { denial: content.denial };
    const paid = content.transaction ? encoded("touchstone transaction v1", ...Object.values(content.transaction)) : "";
    const number = content.purpose === "payment" ? 2 : 1;
    const input = encoded(
      "touchstone evaluation v1", content.challenge, content.application, content.binding, content.policy, [number], paid);
    this.evaluation = { input, binding_id };
    return {
      evaluation: content.evaluation ?? "ZXZhbHVhdGlvbg", signingInput: base64url(input), factors: content.factors ?? ["FACTOR_BIOMETRY", "FACTOR_DEVICE_OWNER", "FACTOR_PASSCODE"],
      expiresAt: content.expires_at ?? new Date(Date.now() + 120_000).toISOString(), presentation: { localizedReason: content.reason ?? "Log in" },
      ...(binding_id ? {} : { passkeyOptions: JSON.stringify({ rpId: "localhost", challenge: base64url(this.digest(input)), allowCredentials: [], ...content.options }) }),
    };
  }

  async submitAttempt({ key, passkey, report, ...rest }) {
    this.calls.push(["submitAttempt", { key, passkey, report, ...rest }]);
    const scripted = this.answers.shift();
    if (scripted instanceof Error) throw scripted;
    if (scripted) return scripted;
    if (report) return { outcome: "OUTCOME_CANCELED", laError: "LA_ERROR_USER_CANCEL", nextFactors: ["FACTOR_BIOMETRY"] };
    if (passkey) return { outcome: "OUTCOME_SUCCEEDED", profileId: this.profile, token: "t" };
    const isRight = await verifies(this.bindings.get(this.evaluation.binding_id), this.evaluation.input, key.signature, key.signatureForm);
    return isRight ? { outcome: "OUTCOME_SUCCEEDED", profileId: this.profile, token: "t" } : { outcome: "OUTCOME_TRY_AGAIN", laError: "LA_ERROR_AUTHENTICATION_FAILED" };
  }

  async revokeBinding(request) {
    this.calls.push(["revokeBinding", request]);
    if (this.revocation) throw this.revocation;
    return {};
  }

  async acceptedPasskeys() {
    this.calls.push(["acceptedPasskeys"]);
    return { rpId: "localhost", userId: base64url("user-1"), credentialIds: this.accepted };
  }

  digest(input) {
    return createHash("sha256").update(input).digest();
  }

  named(name) {
    return this.calls.filter(([called]) => called === name).map(([, request]) => request);
  }
}

async function verifies({ publicKey: public_key }, input, signature, form = "SIGNATURE_FORM_RAW") {
  const key = bytes(public_key);
  const isRSA = key[0] === 0x30;
  const algorithm = isRSA ? { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } : { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const imported = await subtle.importKey(isRSA ? "spki" : "raw", key, algorithm, false, ["verify"]);
  assert.match(form, /^SIGNATURE_FORM_(RAW|BASE64URL_TEXT)$/);
  return subtle.verify(algorithm, imported, bytes(signature), form === "SIGNATURE_FORM_RAW" ? input : Buffer.from(base64url(input)));
}

/** A phone whose key a finger unlocks. */
export class Phone {
  factor = "FACTOR_BIOMETRY";
  protection = "KEY_PROTECTION_BIOMETRY_CURRENT_SET";
  form = "RAW";
  signed = [];

  constructor(kit) {
    this.kit = kit;
    this.kept = { device_id: randomUUID(), installation: "i-1" };
  }

  async posture() {
    return this.kit.postureOf({ platform: "ios", system_version: "18.1", biometry_type: 1, domain_state: base64url("fingers") });
  }

  async create() {
    this.key = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
    return new Uint8Array(await subtle.exportKey("raw", this.key.publicKey));
  }

  async sign(message, reason) {
    if (this.error) throw this.error;
    if (!this.key) throw new this.kit.PromptError("key-gone");
    this.signed.push([message, reason]);
    return new Uint8Array(await subtle.sign({ name: "ECDSA", hash: "SHA-256" }, this.key.privateKey, message));
  }

  exists = async () => !!this.key;
  remove = async () => void (this.key = undefined);
  load = async () => structuredClone(this.kept);
  save = async ({ device_id, binding }) => void (this.kept = { device_id, binding, installation: this.kept.installation });
}

/** Does the same as react-native-biometrics on both platforms: RSA, SPKI in base64, and signatures of a text's UTF-8. */
export class Wrapper {
  prompts = [];

  async createKeys() {
    const algorithm = { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), hash: "SHA-256" };
    this.key = await subtle.generateKey(algorithm, false, ["sign"]);
    return { publicKey: Buffer.from(await subtle.exportKey("spki", this.key.publicKey)).toString("base64") };
  }

  async createSignature({ promptMessage, payload }) {
    this.prompts.push(promptMessage);
    if (this.error) throw new Error(this.error);
    if (this.cancels) return { success: false, error: "User cancellation" };
    const signature = await subtle.sign("RSASSA-PKCS1-v1_5", this.key.privateKey, Buffer.from(payload, "utf8"));
    return { success: true, signature: Buffer.from(signature).toString("base64") };
  }

  async biometricKeysExist() {
    return { keysExist: !!this.key };
  }

  async deleteKeys() {
    this.key = undefined;
    return { keysDeleted: true };
  }
}

/** `navigator.credentials` and `PublicKeyCredential`, as far as the kit uses them. Returns what they were asked. */
export function installBrowser({ credential, conditional = true, signals = true } = {}) {
  const asked = [];
  const signaled = [];
  let notify = () => {};
  /** When the browser was asked that many times. */
  const whenAsked = async (count) => { while (asked.length < count) await new Promise((done) => (notify = done)); };
  const ask = (method) => (options) => new Promise((done, fail) => {
    asked.push([method, options]);
    notify();
    const abort = () => fail(new DOMException("aborted", "AbortError"));
    if (options.signal.aborted) return abort();
    options.signal.addEventListener("abort", abort);
    const result = credential(method, options);
    if (result instanceof Error) fail(result);
    else if (result) done(result);
  });
  const api = { isConditionalMediationAvailable: async () => conditional, getClientCapabilities: async () => ({ conditionalCreate: conditional }) };
  if (signals) api.signalAllAcceptedCredentials = async (list) => void signaled.push(list);
  Object.defineProperty(globalThis, "navigator", { value: { credentials: { create: ask("create"), get: ask("get") } }, configurable: true });
  globalThis.PublicKeyCredential = api;
  globalThis.crypto ??= webcrypto;
  return { asked, signaled, whenAsked };
}

const buffer = (text) => Uint8Array.from(Buffer.from(text)).buffer;

export const registration = {
  rawId: buffer("new"),
  response: { attestationObject: buffer("object"), clientDataJSON: buffer("{}"), getTransports: () => ["internal"] },
};

export const assertion = {
  rawId: buffer("before"),
  response: { authenticatorData: buffer("data"), clientDataJSON: buffer("{}"), signature: buffer("signature"), userHandle: buffer("user-1") },
};
