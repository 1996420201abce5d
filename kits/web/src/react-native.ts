// Keys of a React Native wrapper that signs texts alone: react-native-biometrics, and others with its methods.

import { PromptError } from "./backend.js";
import { fromBase64, fromUTF8 } from "./bytes.js";
import { Kept } from "./decisions.js";
import { Device, Kit } from "./device-keys.js";
import { readKey } from "./keys.js";
import { errorOf, PlatformAnswers, postureOf } from "./platforms.js";

export interface Wrapper {
  createKeys(): Promise<{ publicKey: string }>;
  createSignature(prompt: { promptMessage: string; payload: string }): Promise<{ success: boolean; signature?: string }>;
  biometricKeysExist(): Promise<{ keysExist: boolean }>;
  deleteKeys(): Promise<unknown>;
}

/** The parts of the phone that the wrapper lacks. The README shows each of them. */
export interface Phone {
  /** The platform's answers; on iOS with the domain state, by ten native lines. */
  answers(): Promise<PlatformAnswers>;
  /** An item in keychain or Keystore that stays on this phone. */
  read(): Promise<string | null>;
  write(text: string): Promise<void>;
  /** An id that goes with the app when it is removed. */
  installation(): Promise<string>;
  uuid(): string;
}

const domains: Record<string, string> = {
  "com.apple.LocalAuthentication": "ios-la-error", CryptoTokenKit: "ios-token", NSOSStatusErrorDomain: "ios-os-status",
};

/** Reads the text of a wrapper's error, which has no code. An unknown text means that the system canceled, which counts nowhere. */
function promptError(text: string): PromptError {
  const [, domain = "", code = ""] = text.match(/Error Domain=(\S+) Code=(-?\d+)/) ?? [];
  const known = domains[domain] && errorOf({ platform: domains[domain], code: +code });
  if (known) return new PromptError(known.means, known.send);
  if (/not authenticated/i.test(text)) return new PromptError("retry");
  return /not found|permanently invalidated/i.test(text) ? new PromptError("key-gone") : new PromptError("cancel", -4);
}

/** `protection`: that of the wrapper's key. react-native-biometrics makes BIOMETRY_ANY on iOS, BIOMETRY_CURRENT_SET on Android. */
export function wrapperKey(wrapper: Wrapper, phone: Phone, protection: string): Device {
  const kept = async (): Promise<{ device_id: string; binding?: Kept }> => JSON.parse((await phone.read()) ?? "null") ?? { device_id: "" };
  return {
    factor: "FACTOR_BIOMETRY",
    protection: `KEY_PROTECTION_${protection}`,
    form: "BASE64URL_TEXT",
    posture: async () => postureOf(await phone.answers()),
    async create() {
      const made = fromBase64((await wrapper.createKeys()).publicKey);
      const key = readKey(made);
      return key.algorithm === "RSA" ? key.spki : made;
    },
    exists: async () => (await wrapper.biometricKeysExist()).keysExist,
    remove: async () => void (await wrapper.deleteKeys()),
    async sign(message, promptMessage) {
      const prompt = wrapper.createSignature({ promptMessage, payload: fromUTF8(message) });
      const { signature } = await prompt.catch((error) => { throw promptError(String(error?.message ?? error)); });
      return signature ? fromBase64(signature) : Promise.reject(new PromptError("cancel", -2));
    },
    async load(): Promise<Kit> {
      const known = await kept();
      if (!known.device_id) await phone.write(JSON.stringify({ device_id: phone.uuid() }));
      return { ...(await kept()), installation: await phone.installation() };
    },
    save: ({ device_id, binding }) => phone.write(JSON.stringify({ device_id, binding })),
  };
}
