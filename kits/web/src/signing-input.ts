// Takes apart the bytes that a key signs (docs/SIGNING.md). Tests/Vectors/kit/README.md has the checks in their order.

import { areEqual, base64url, fromBase64, fromUTF8, refuse, textFault, utf8 } from "./bytes.js";

/** A payment, as the app shows it. */
export type Transaction = { amount: string; currency: string; payee: string; reference: string };

/** The app's own knowledge, which the signing input must repeat. `policy`: the one that the app asked for. `challenge`: in base64. */
export type Own = { application_id: string; challenge?: string } & (
  | { kind: "binding"; profile_id: string; device_id: string }
  | { kind: "evaluation"; binding_id: string; policy: string; shown?: Transaction }
);

/** The content of a signing input. `challenge` is base64url. */
export type SigningInput = {
  challenge: string; application_id: string; profile_id?: string; device_id?: string;
  binding_id?: string; policy?: string; purpose?: "login" | "payment"; transaction?: Transaction;
};

const maximumBytes = 4096; // A payment with the longest texts has less than 1,200.

/** The fields of a message: each has 4 bytes of length, big-endian. */
function fieldsOf(bytes: Uint8Array, tag: string, count: number): Uint8Array[] {
  const fields: Uint8Array[] = [];
  do {
    const [a, b, c, d] = bytes;
    const end = 4 + d + 256 * (c + 256 * (b + 256 * a));
    if (!(end <= bytes.length)) refuse(fields.length < count ? "truncated" : "leftover-bytes");
    fields.push(bytes.subarray(4, end));
    bytes = bytes.subarray(end);
    if (fields.length === 1 && !areEqual(fields[0], utf8(tag))) refuse("wrong-tag");
  } while (bytes.length);
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
  if (!/^(?=.*[1-9])(?!(\.?\d){19})(0|[1-9]\d*)(\.\d+)?$/.test(amount)) refuse("wrong-amount");
  if (!/^[A-Z]{3}$/.test(currency)) refuse("wrong-currency");
  if (!payee || fields[3].length > 256 || !reference || fields[4].length > 128) refuse("wrong-length");
  const fault = textFault(payee) ?? textFault(reference);
  return fault ? refuse(fault) : { amount, currency, payee, reference };
}

/** Takes a signing input apart; throws a Refusal unless it is the app's own and what the person was shown. */
export function takeApart(bytes: Uint8Array, own: Own): SigningInput {
  if (bytes.length > maximumBytes) refuse("too-long");
  const isBinding = own.kind === "binding";
  const fields = fieldsOf(bytes, `touchstone ${own.kind} v1`, isBinding ? 5 : 7);
  const challenge = fields[1];
  if (challenge.length !== 32) refuse("wrong-challenge-length");
  const names = isBinding ? ["application_id", "profile_id", "device_id"] : ["application_id", "binding_id", "policy"];
  const read: any = { challenge: base64url(challenge) };
  fields.slice(2, 5).map(fromUTF8).forEach((text, i) => {
    const name = names[i];
    if (text !== own[name as keyof Own]) refuse(`other-${name.replace("_id", "")}`);
    read[name] = text;
  });
  if (own.challenge && !areEqual(challenge, fromBase64(own.challenge))) refuse("other-challenge");
  if (isBinding) return read;

  const purpose = fields[5].length === 1 ? fields[5][0] : 0;
  if (purpose === 1) {
    if (fields[6].length) refuse("transaction-in-login");
    return own.shown ? refuse("not-a-payment") : { ...read, purpose: "login" };
  }
  if (purpose !== 2) refuse("unknown-purpose");
  const transaction = transactionOf(fields[6]);
  const shown = own.shown ?? refuse("transaction-not-shown");
  for (const field of Object.keys(transaction) as (keyof Transaction)[]) if (transaction[field] !== shown[field]) refuse("other-transaction");
  return { ...read, purpose: "payment", transaction };
}
