// The content of touchstone-keys.min.js: all that a page with a key of WebCrypto needs.

export { CallError, fetchBackend } from "./backend.js";
export { DeviceKeys } from "./device-keys.js";
export { WebCryptoKey } from "./web-crypto.js";
