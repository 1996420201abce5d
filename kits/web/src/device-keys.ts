// A key of this device, bound to the account: enable, log in, pay, status, disable. A Device makes and keeps the key.

import { App, Begun, bindingOf, Completed, normal, PromptError, Result, resultOf } from "./backend.js";
import { base64url, fromBase64, legible, utf8 } from "./bytes.js";
import { Answer, Kept, nextStep, Posture, State, stateOf } from "./decisions.js";
import { takeApart, Transaction } from "./signing-input.js";

/** The app's record of its device and binding. The device id stays for good. */
export type Kit = { device_id: string; installation: string; binding?: Kept };

/** Makes and keeps one key, and what the app keeps beside it. */
export interface Device {
  readonly factor: "FACTOR_BIOMETRY" | "FACTOR_DEVICE_OWNER";
  /** KeyProtection of the API. */
  readonly protection: string;
  /** BASE64URL_TEXT: the key signs texts only, and gets the text of the bytes. */
  readonly form: "RAW" | "BASE64URL_TEXT";
  posture(): Promise<Partial<Posture>>;
  /** Makes a key in place of the one before, and returns its public half: X9.63 or SPKI. */
  create(): Promise<Uint8Array>;
  /** Prompts if the key needs it. Throws a PromptError. */
  sign(message: Uint8Array, reason: string): Promise<Uint8Array>;
  exists(): Promise<boolean>;
  remove(): Promise<void>;
  /** A new device id and installation are random UUIDs. */
  load(): Promise<Kit>;
  save(kit: Kit): Promise<void>;
}

const maximumReasonBytes = 512; // The service's bound of localized_reason.

async function signed(device: Device, bytes: Uint8Array, reason: string): Promise<object> {
  const { form } = device;
  const signature = await device.sign(form === "RAW" ? bytes : utf8(base64url(bytes)), reason);
  return { signature: base64url(signature), signatureForm: `SIGNATURE_FORM_${form}` };
}

export class DeviceKeys {
  /** An evaluation that the service still accepts attempts for, with the bytes to sign and the prompt's text. */
  private open?: { id?: string; bytes: Uint8Array; reason: string; next_factors?: string[]; again: boolean; key_gone: boolean };

  constructor(private readonly app: App, private readonly device: Device) {}

  /** Returns the state on this device. `profile_id`: the account that is logged in. */
  async status(profile_id: string | null = null): Promise<State> {
    const { binding = null, installation } = await this.device.load();
    return stateOf(binding, installation, (await this.device.exists()) ? [this.device.factor] : [], profile_id);
  }

  /** Revokes the binding, and forgets key and binding here. If the call fails, everything stays, and this throws its error. */
  async disable(): Promise<void> {
    const { binding } = await this.device.load();
    const revoked = binding && this.app.backend.revokeBinding?.({ bindingId: binding.binding_id });
    await revoked?.catch((error) => error.status === "NOT_FOUND" || Promise.reject(error));
    await this.forget();
  }

  private async forget(): Promise<void> {
    await this.device.remove();
    await this.keep();
  }

  private async keep(binding?: Kept): Promise<void> {
    const { device_id, installation } = await this.device.load();
    await this.device.save({ device_id, installation, binding });
  }

  /** Binds this device to the person who is logged in. */
  enable(profile_id: string, deviceName = "", reason = this.app.application_id): Promise<Result> {
    return resultOf(async () => {
      const { app: { application_id, backend }, device } = this;
      const { device_id, installation } = await device.load();
      const posture = await device.posture();
      const begun: Begun = normal(await backend.beginBinding({ deviceId: device_id, posture }));
      if (!begun.signing_input) return this.next("begin", begun);
      const bytes = fromBase64(begun.signing_input);
      takeApart(bytes, { kind: "binding", application_id, profile_id, device_id, challenge: begun.challenge });
      // The new key replaces that of an earlier binding, which the service ends with the new one.
      await this.forget();
      const proof = { publicKey: base64url(await device.create()), protection: device.protection, ...(await signed(device, bytes, reason)) };
      const answer: Completed = normal(await backend.completeBinding({ ticket: begun.ticket, deviceName, posture, keys: [proof] }));
      await this.keep({ binding_id: bindingOf(answer), profile_id, installation, made: [device.factor] });
      return { ...(await this.next("bind", answer)), answer };
    });
  }

  /** Logs in by a policy of the application, and signs under no other one. */
  login(policy = "login"): Promise<Result> {
    return this.begin(policy);
  }

  /** The app shows the transaction before it calls this: the key approves nothing else. */
  pay(transaction: Transaction, policy = "payment"): Promise<Result> {
    return this.begin(policy, transaction);
  }

  /** Prompts once more, in the same evaluation, after "try-again". */
  retry(): Promise<Result> {
    return resultOf(() => this.prove());
  }

  /** Answers "prompt" or "use-factor" by a secret of the service, in the same evaluation. */
  secret(attempt: { passcode: { passcode: string } } | { gesture: { points: number[] } }): Promise<Result> {
    return resultOf(() => this.submit(attempt, `FACTOR_${Object.keys(attempt)[0].toUpperCase()}`));
  }

  private begin(policy: string, shown?: Transaction): Promise<Result> {
    return resultOf(async () => {
      this.open = undefined;
      const { binding } = await this.device.load();
      const { status, forget } = await this.status();
      if (forget.length) await this.forget();
      if (!binding || status !== "ready") return { step: "bind-again" };
      const { app: { application_id, backend }, device } = this;
      const { binding_id } = binding;
      const posture = await device.posture();
      const begun: Begun = normal(await backend.beginEvaluation({ policy, transaction: shown, bindingId: binding_id, posture }));
      const next = await this.next("begin", begun);
      if (next.step !== "prompt") return next;
      const bytes = fromBase64(begun.signing_input ?? "");
      takeApart(bytes, { kind: "evaluation", application_id, binding_id, policy, shown });
      // A payment's prompt shows what is signed. The text of a login is the backend's, if all of it can be seen.
      const text = shown ? `${shown.amount} ${shown.currency}, ${shown.payee}` : begun.presentation?.localized_reason;
      const reason = legible(text, maximumReasonBytes) || application_id;
      const next_factors = begun.factors?.filter((other) => other !== device.factor);
      this.open = { id: begun.evaluation, bytes, reason, next_factors, again: false, key_gone: false };
      return next.factor === device.factor ? this.prove() : next;
    });
  }

  private async prove(): Promise<Result> {
    const { open, device } = this;
    if (!open) return { step: "begin-again" };
    const { factor } = device;
    try {
      return await this.submit({ key: { factor, ...(await signed(device, open.bytes, open.reason)) } }, factor, open);
    } catch (error) {
      if (!(error instanceof PromptError)) throw error;
      if (error.send !== null) return this.submit({ report: { laError: error.send } }, factor, open);
      const next = nextStep("prompt", { ...open, means: error.means, factor });
      open.again = true;
      open.key_gone = next.step === "bind-again";
      if (open.key_gone) await this.forget();
      return next;
    }
  }

  /** `open`: the evaluation of the attempt. The app may have begun another one while the person was prompted. */
  private async submit(attempt: object, factor: string, open = this.open): Promise<Result> {
    const { device, app } = this;
    if (!open) return { step: "begin-again" };
    const request = { evaluation: open.id, posture: await device.posture(), ...attempt };
    const answer: Completed = normal(await app.backend.submitAttempt(request));
    const next = await this.next("submit", { ...answer, factor, key_gone: open.key_gone });
    if (open === this.open && /^(done|begin|bind)/.test(next.step)) this.open = undefined;
    return { ...next, answer };
  }

  /** Decides, and forgets a binding that the service has ended. */
  private async next(at: string, answer: Answer): Promise<Result> {
    if (/^BINDING_(UNKNOWN|REVOKED)$/.test(`${answer.denial?.reason}`)) await this.forget();
    return nextStep(at, answer, this.app.languages);
  }
}
