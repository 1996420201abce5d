// Bytes and texts, without what a browser has and React Native lacks.

/** What the kit refuses. `code` is one of those in Tests/Vectors/kit/README.md. */
export class Refusal extends Error {
  constructor(readonly code: string) {
    super(code);
    this.name = "Refusal";
  }
}

export function refuse(code: string): never {
  throw new Refusal(code);
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Base64url without padding. */
export function base64url(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const three = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    for (let digit = 0; digit < Math.min(4, bytes.length - i + 1); digit++) text += alphabet[(three >> (18 - 6 * digit)) & 63];
  }
  return text;
}

/** Reads base64url and base64, with and without padding: the JSON of a backend has either. */
export function fromBase64(text: string): Uint8Array {
  const digits = Array.from(`${text}`.replace(/=+$/, "").replace(/\+/g, "-").replace(/\//g, "_"), (c) => alphabet.indexOf(c));
  if (digits.includes(-1) || digits.length % 4 === 1) refuse("not-base64");
  const at = (i: number) => digits[i] ?? 0;
  return Uint8Array.from({ length: (digits.length * 3) >> 2 }, (_, i) => {
    const first = (i * 4) / 3 | 0;
    return (at(first) << (2 + 2 * (i % 3))) | (at(first + 1) >> (4 - 2 * (i % 3)));
  });
}

/** Strict: overlong forms and surrogates are refused. */
export function fromUTF8(bytes: Uint8Array): string {
  try {
    return decodeURIComponent(Array.from(bytes, (byte) => "%" + byte.toString(16).padStart(2, "0")).join(""));
  } catch {
    return refuse("not-utf8");
  }
}

export function utf8(text: string): Uint8Array {
  try {
    const escaped = encodeURIComponent(text).replace(/%(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
    return Uint8Array.from(escaped, (c) => c.charCodeAt(0));
  } catch {
    return refuse("not-utf8"); // half of a surrogate pair
  }
}

export function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const hidden =
  /[\0-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2028\u2029\u2060-\u2064\u206a-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]/;

/** Why a person cannot be shown a text as it is signed. */
export function textFault(text: string): "text-reorders" | "text-hidden" | undefined {
  return turning.test(text) ? "text-reorders" : hidden.test(text) ? "text-hidden" : undefined;
}
