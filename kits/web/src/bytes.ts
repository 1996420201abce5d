// Bytes and texts. React Native lacks a browser's TextDecoder and atob, so this file has its own.

/** A refusal of the kit. Tests/Vectors/kit/README.md has the codes. */
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
  let [text, bits, count] = ["", 0, 0];
  for (const byte of bytes) {
    bits = (bits << 8) | byte;
    for (count += 8; count >= 6; ) text += alphabet[(bits >> (count -= 6)) & 63];
  }
  return count ? text + alphabet[(bits << (6 - count)) & 63] : text;
}

/** Reads base64url and base64, with and without padding: the JSON of a backend has either. */
export function fromBase64(text: string): Uint8Array {
  const bytes: number[] = [];
  let [bits, count] = [0, 0];
  for (const letter of `${text}`.replace(/=+$/, "")) {
    const digit = alphabet.indexOf(letter.replace("+", "-").replace("/", "_"));
    if (digit < 0) refuse("not-base64");
    bits = (bits << 6) | digit;
    if ((count += 6) >= 8) bytes.push(bits >> (count -= 8));
  }
  return count > 5 ? refuse("not-base64") : Uint8Array.from(bytes);
}

/** Strict: overlong forms and surrogates are refused. */
export function fromUTF8(bytes: Uint8Array): string {
  try {
    return decodeURIComponent(bytes.reduce((text, byte) => text + "%" + (256 + byte).toString(16).slice(1), ""));
  } catch {
    return refuse("not-utf8");
  }
}

export function utf8(text: string): Uint8Array {
  try {
    const bytes = encodeURIComponent(text).match(/%..|./g) ?? [];
    return Uint8Array.from(bytes, (byte) => (byte[1] ? parseInt(byte.slice(1), 16) : byte.charCodeAt(0)));
  } catch {
    return refuse("not-utf8"); // half of a surrogate pair
  }
}

/** Compares bytes that are no secrets. */
export function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return `${a}` === `${b}`;
}

const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/** Those that turn the text as well are tested first. With "u", the last range is halves of surrogate pairs alone. */
const hidden =
  /[\0-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2028-\u202e\u2060-\u2064\u206a-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff]/u;

/** Returns why a person would not see a text as it is. */
export function textFault(text: string): "text-reorders" | "text-hidden" | undefined {
  return turning.test(text) ? "text-reorders" : hidden.test(text) ? "text-hidden" : undefined;
}

/** Returns the text if a person may be shown it: it has 1 to `most` bytes, and all of them are seen. Otherwise an empty text. */
export function legible(text: unknown, most: number): string {
  return typeof text === "string" && !textFault(text) && utf8(text).length <= most ? text : "";
}
