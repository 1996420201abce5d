// Decides the vectors with the kit, in Node and in a browser.

const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

export const groups = ["signing_inputs", "keys", "signatures", "postures", "errors", "next_steps", "languages", "texts", "lifetimes", "states"];

/** Returns the kit's decision in the form of `expect`. Throws a Refusal. */
const decide = {
  async signing_inputs(kit, { signing_input, ...own }) {
    const read = kit.takeApart(kit.fromBase64(signing_input), own);
    if (!read.transaction) return read;
    const fields = ["touchstone transaction v1", ...Object.values(read.transaction)].map(kit.utf8);
    const signed = fields.flatMap((field) => [0, 0, field.length >> 8, field.length & 255, ...field]);
    return { ...read, transaction_sha256: kit.base64url(new Uint8Array(await subtle.digest("SHA-256", Uint8Array.from(signed)))) };
  },

  keys(kit, { key }) {
    const read = kit.readKey(kit.fromBase64(key));
    for (const name of ["x963", "spki"]) if (read[name]) read[name] = kit.base64url(read[name]);
    return read;
  },

  async signatures(kit, { algorithm, key, form, signing_input, signature }) {
    const spki = kit.fromBase64(key);
    const raw = kit.readSignature(kit.fromBase64(signature), kit.readKey(spki));
    const names = algorithm === "RSA" ? { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } : { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
    const imported = await subtle.importKey("spki", spki, names, false, ["verify"]);
    const signed = form === "RAW" ? kit.fromBase64(signing_input) : kit.utf8(signing_input);
    if (!(await subtle.verify(names, imported, raw, signed))) throw new kit.Refusal("wrong-signature");
    return algorithm === "RSA" ? { valid: true } : { valid: true, raw: kit.base64url(raw) };
  },

  postures: (kit, answers) => kit.postureOf(answers),
  errors: (kit, error) => kit.errorOf(error),
  next_steps: (kit, { at, answer, languages }) => kit.nextStep(at, answer, languages),
  languages: (kit, { languages }) => ({ language: kit.languageOf(languages) }),
  texts: (kit, { text, maximum_bytes }) => ({ shown: kit.legible(text, maximum_bytes) !== "" }),
  lifetimes: (kit, { expires_at, phone_time }) => ({ seconds: kit.lifetimeOf(expires_at, phone_time) }),
  states: (kit, { kept, installation, found, profile_id }) => kit.stateOf(kept, installation, found, profile_id),
};

/** `{expect}` or `{refused}`, with the members in the order of their names. */
export async function decision(kit, group, { name, expect, refused, ...given }) {
  try {
    return sorted({ expect: await decide[group](kit, given) });
  } catch (error) {
    if (error instanceof kit.Refusal) return { refused: error.code };
    throw error;
  }
}

export function expected({ expect, refused }) {
  return sorted(expect ? { expect } : { refused });
}

function sorted(value) {
  if (!value || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));
}
