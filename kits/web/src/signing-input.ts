// What a key signs, taken apart: docs/SIGNING.md. The checks and their order: Tests/Vectors/kit/README.md.

import { areEqual, base64url, fromUTF8, refuse, textFault, utf8 } from "./bytes.js";

/** A payment, as the app shows it. */
export type Transaction = { amount: string; currency: string; payee: string; reference: string };

/** What the app knows by itself, and the signing input must say. */
export type Own = { application_id: string; challenge?: Uint8Array } & (
  | { kind: "binding"; profile_id: string; device_id: string }
  | { kind: "evaluation"; binding_id: string; shown?: Transaction }
);

/** What it says. `challenge` is base64url. */
export type SigningInput = {
  challenge: string; application_id: string; profile_id?: string; device_id?: string;
  binding_id?: string; policy?: string; purpose?: "login" | "payment"; transaction?: Transaction;
};

const maximumBytes = 4096; // A payment with the longest texts has less than 1,200.

/** The fields of a message: each has 4 bytes of length, big-endian. */
function fieldsOf(bytes: Uint8Array, tag: string, count: number): Uint8Array[] {
  const fields: Uint8Array[] = [];
  for (let at = 0; at < bytes.length || !fields.length; ) {
    const start = at + 4;
    const length = start <= bytes.length ? new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0) : Infinity;
    if (start + length > bytes.length) refuse(fields.length < count ? "truncated" : "leftover-bytes");
    fields.push(bytes.subarray(start, (at = start + length)));
    if (fields.length === 1 && !areEqual(fields[0], utf8(tag))) refuse("wrong-tag");
  }
  return fields.length === count ? fields : refuse("field-count");
}

function transactionOf(bytes: Uint8Array): Transaction {
  let fields: Uint8Array[];
  try {
    fields = fieldsOf(bytes, "touchstone transaction v1", 5);
  } catch {
    return refuse("malformed-transaction");
  }
  const [amount, currency, payee, reference] = fields.slice(1).map(fromUTF8);
  const isAmount = /^(0|[1-9]\d*)(\.\d+)?$/.test(amount) && /[1-9]/.test(amount) && amount.replace(".", "").length <= 18;
  if (!isAmount) refuse("wrong-amount");
  if (!/^[A-Z]{3}$/.test(currency)) refuse("wrong-currency");
  if (!payee || fields[3].length > 256 || !reference || fields[4].length > 128) refuse("wrong-length");
  const fault = textFault(payee) ?? textFault(reference);
  return fault ? refuse(fault) : { amount, currency, payee, reference };
}

/** Takes a signing input apart; throws a Refusal unless it is the app's own and what the person was shown. */
export function takeApart(bytes: Uint8Array, own: Own): SigningInput {
  if (bytes.length > maximumBytes) refuse("too-long");
  const fields = fieldsOf(bytes, `touchstone ${own.kind} v1`, own.kind === "binding" ? 5 : 7);
  const challenge = fields[1];
  if (challenge.length !== 32) refuse("wrong-challenge-length");
  const [application_id, second, third] = fields.slice(2, 5).map(fromUTF8);
  const mustBe = (is: string, known: string, code: string) => is === known || refuse(code);
  mustBe(application_id, own.application_id, "other-application");
  if (own.kind === "binding") {
    mustBe(second, own.profile_id, "other-profile");
    mustBe(third, own.device_id, "other-device");
  } else mustBe(second, own.binding_id, "other-binding");
  if (own.challenge && !areEqual(challenge, own.challenge)) refuse("other-challenge");
  const read = { challenge: base64url(challenge), application_id };
  if (own.kind === "binding") return { ...read, profile_id: second, device_id: third };

  const evaluation = { ...read, binding_id: second, policy: third };
  const purpose = fields[5].length === 1 ? fields[5][0] : 0;
  if (purpose === 1) {
    if (fields[6].length) refuse("transaction-in-login");
    return own.shown ? refuse("not-a-payment") : { ...evaluation, purpose: "login" };
  }
  if (purpose !== 2) refuse("unknown-purpose");
  const transaction = transactionOf(fields[6]);
  const shown = own.shown ?? refuse("transaction-not-shown");
  for (const field of Object.keys(transaction) as (keyof Transaction)[]) mustBe(transaction[field], shown[field], "other-transaction");
  return { ...evaluation, purpose: "payment", transaction };
}
