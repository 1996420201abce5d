// What touchstone.min.js has: all that a page with passkeys needs. A bundler takes what it needs from index.ts.

export { CallError, fetchBackend } from "./backend.js";
export { Refusal } from "./bytes.js";
export { nextStep } from "./decisions.js";
export { Passkeys } from "./passkeys.js";
export { takeApart } from "./signing-input.js";
