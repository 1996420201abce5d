// The content of touchstone.min.js: all that a page with passkeys needs. A bundler takes its parts from index.ts.

export { CallError, fetchBackend } from "./backend.js";
export { Refusal } from "./bytes.js";
export { nextStep } from "./decisions.js";
export { Passkeys } from "./passkeys.js";
export { takeApart } from "./signing-input.js";
