// A key of WebCrypto that no script can read out, and the record of its binding, in the browser's IndexedDB.

import { PromptError } from "./backend.js";
import { browserPosture } from "./decisions.js";
import { Device, Kit } from "./device-keys.js";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

const ended = (what: any, success: string, failure: string) =>
  new Promise((done, fail) => {
    what[success] = done;
    what[failure] = () => fail(what.error);
  });

/** Nothing prompts for this key: it proves the browser, whose device verifies its user. */
export class WebCryptoKey implements Device {
  readonly factor = "FACTOR_DEVICE_OWNER";
  readonly protection = "KEY_PROTECTION_DEVICE_PASSCODE";
  readonly form = "RAW";

  constructor(private readonly application_id: string) {}

  async posture() {
    const version = navigator.userAgent.match(/(Version|Firefox|Chrome)\/([\d.]+)/)?.[2] ?? "0";
    const asked = (globalThis as any).PublicKeyCredential?.isUserVerifyingPlatformAuthenticatorAvailable?.();
    return browserPosture(version, !!(await asked));
  }

  async create() {
    const pair = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
    await this.kept((store) => store.put(pair.privateKey, "key"));
    return new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  }

  async sign(message: Uint8Array) {
    const key = await this.kept((store) => store.get("key"));
    if (!key) throw new PromptError("key-gone");
    return new Uint8Array(await crypto.subtle.sign(algorithm, key, message));
  }

  exists() {
    return this.kept((store) => store.get("key")).then(Boolean);
  }

  remove() {
    return this.kept((store) => store.delete("key"));
  }

  async load(): Promise<Kit> {
    const known = await this.kept((store) => store.get("kit"));
    if (known) return known;
    const kit = { device_id: crypto.randomUUID(), installation: crypto.randomUUID() };
    await this.save(kit);
    return kit;
  }

  save(kit: Kit) {
    return this.kept((store) => store.put(kit, "kit"));
  }

  /** Uses the database of this application. A write is complete when it returns. */
  private async kept(use: (store: IDBObjectStore) => IDBRequest): Promise<any> {
    const opening = indexedDB.open(`touchstone-${this.application_id}`, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
    await ended(opening, "onsuccess", "onerror");
    const transaction = opening.result.transaction("kept", "readwrite");
    const request = use(transaction.objectStore("kept"));
    opening.result.close(); // when the transaction is over
    await ended(transaction, "oncomplete", "onabort");
    return request.result;
  }
}
