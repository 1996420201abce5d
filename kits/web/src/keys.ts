// Public keys and signatures, in the forms that phones and wrappers give them. DER has one encoding of a value, so what was read
// is encoded again, and compared.

import { areEqual, refuse, utf8 } from "./bytes.js";

export type PublicKey =
  | { algorithm: "P256"; form: "x963" | "spki"; x963: Uint8Array }
  | { algorithm: "P256"; form: "x963-compressed" | "spki-compressed" }
  | { algorithm: "RSA"; form: "spki" | "pkcs1"; bits: number; spki: Uint8Array };

const fromHex = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));
const numberOf = (bytes: Uint8Array) => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => Array.from(part)));
const startsWith = (bytes: Uint8Array, start: Uint8Array) => areEqual(bytes.subarray(0, start.length), start);

const [sequence, integer, bitString, objectIdentifier] = [0x30, 2, 3, 6];
const ecKey = fromHex("06072a8648ce3d0201");
const p256 = join(ecKey, fromHex("06082a8648ce3d030107"));
const rsaKey = fromHex("06092a864886f70d0101010500"); // rsaEncryption, NULL

function der(tag: number, ...parts: Uint8Array[]): Uint8Array {
  const content = join(...parts);
  const n = content.length;
  return join(Uint8Array.of(tag, ...(n < 128 ? [n] : n < 256 ? [0x81, n] : [0x82, n >> 8, n & 255])), content);
}

/** Without the zeros before it, other than the one of zero itself. */
function derInteger(digits: Uint8Array): Uint8Array {
  return der(integer, digits[0] > 0x7f ? Uint8Array.of(0) : Uint8Array.of(), digits);
}

/** The contents of elements one after the other, which have these tags. */
function contents(bytes: Uint8Array, tags: number[], code: string): Uint8Array[] {
  return tags.map((tag) => {
    const digits = bytes[1] > 0x80 ? bytes[1] - 0x80 : 0;
    const length = digits ? bytes.subarray(2, 2 + digits).reduce((sum, byte) => sum * 256 + byte, 0) : bytes[1];
    const end = 2 + digits + length;
    if (bytes[0] !== tag || !(end <= bytes.length)) refuse(code);
    const content = bytes.subarray(2 + digits, end);
    bytes = bytes.subarray(end);
    return content;
  });
}

/** The two numbers of a sequence, which has nothing else. */
function twoNumbers(bytes: Uint8Array, code: string): Uint8Array[] {
  const numbers = contents(contents(bytes, [sequence], code)[0], [integer, integer], code);
  const digits = numbers.map((number) => number.subarray(number.findIndex((byte) => byte > 0)));
  if (!digits.every((number) => number.length) || !areEqual(der(sequence, ...digits.map(derInteger)), bytes)) refuse(code);
  return digits;
}

const P = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;

function pointOf(bytes: Uint8Array, form: "x963" | "spki"): PublicKey {
  const isCompressed = bytes.length === 33 && (bytes[0] === 2 || bytes[0] === 3);
  if (!isCompressed && (bytes.length !== 65 || bytes[0] !== 4)) refuse("not-a-key");
  const x = numberOf(bytes.subarray(1, 33));
  const square = (x * x * x - 3n * x + B) % P;
  const y = isCompressed ? rootOf(square) : numberOf(bytes.subarray(33));
  if (x >= P || y >= P || (y * y - square) % P) refuse("not-on-curve");
  return isCompressed ? { algorithm: "P256", form: `${form}-compressed` } : { algorithm: "P256", form, x963: bytes };
}

/** The root modulo P, if the number has one: its power of (P + 1) / 4. */
function rootOf(square: bigint): bigint {
  let root = 1n;
  for (const bit of ((P + 1n) / 4n).toString(2)) root = (root * root * (bit === "1" ? square : 1n)) % P;
  return root;
}

function rsaOf(key: Uint8Array, form: "spki" | "pkcs1"): PublicKey {
  const [modulus, exponent] = twoNumbers(key, "not-a-key");
  const bits = numberOf(modulus).toString(2).length;
  if (!(modulus[modulus.length - 1] & 1)) refuse("rsa-even");
  if (bits < 2048) refuse("rsa-too-small");
  if (bits > 4096) refuse("rsa-too-large");
  if (numberOf(exponent) !== 65537n) refuse("rsa-exponent");
  return { algorithm: "RSA", form, bits, spki: spkiOf(rsaKey, key) };
}

const spkiOf = (algorithm: Uint8Array, key: Uint8Array) => der(sequence, der(sequence, algorithm), der(bitString, Uint8Array.of(0), key));

/** Reads a public key: P-256 in X9.63 or SPKI, RSA in SPKI or PKCS#1. */
export function readKey(bytes: Uint8Array): PublicKey {
  if (startsWith(bytes, utf8("-----BEGIN "))) refuse("pem");
  if (bytes[0] !== sequence) return pointOf(bytes, "x963");
  const [info] = contents(bytes, [sequence], "not-a-key");
  if (info[0] === integer) return rsaOf(bytes, "pkcs1");
  const [algorithm, bits] = contents(info, [sequence, bitString], "not-a-key");
  const key = bits.subarray(1);
  if (!areEqual(spkiOf(algorithm, key), bytes)) refuse("not-a-key");
  if (areEqual(algorithm, p256)) return pointOf(key, "spki");
  if (startsWith(algorithm, ecKey) && algorithm[ecKey.length] === objectIdentifier) refuse("other-curve");
  return areEqual(algorithm, rsaKey) ? rsaOf(key, "spki") : refuse("not-a-key");
}

/** Returns r and s of P-256 in 64 bytes, or the signature of RSA; refuses what has no form of its key's. */
export function readSignature(bytes: Uint8Array, key: { algorithm: "P256" | "RSA"; bits?: number }): Uint8Array {
  if (key.algorithm === "RSA") return bytes.length === Math.ceil((key.bits ?? 0) / 8) ? bytes : refuse("not-a-signature");
  if (bytes.length === 64) return bytes;
  const numbers = twoNumbers(bytes, "not-a-signature");
  if (numbers.some((number) => number.length > 32)) refuse("not-a-signature");
  return join(...numbers.map((number) => join(new Uint8Array(32 - number.length), number)));
}
