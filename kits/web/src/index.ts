// Touchstone's kit for web pages. Everything is exported here; React Native's bridge is `touchstone-kit/react-native`.

export * from "./backend.js";
export * from "./bytes.js";
export * from "./decisions.js";
export * from "./device-keys.js";
export * from "./keys.js";
export * from "./language.js";
export * from "./passkeys.js";
export * from "./platforms.js";
export * from "./signing-input.js";
export * from "./web-crypto.js";
