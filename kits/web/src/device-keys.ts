// A key of this device, bound to the account: enable, log in, pay, status, disable. A Device makes and keeps the key.

import { afterBinding, App, Begun, Completed, normal, PromptError, Result, resultOf } from "./backend.js";
import { base64url, fromBase64, utf8 } from "./bytes.js";
import { Answer, Kept, nextStep, Posture, State, stateOf } from "./decisions.js";
import { takeApart, Transaction } from "./signing-input.js";

/** What the app keeps. The device id stays for good. */
export type Kit = { device_id: string; installation: string; binding?: Kept };

/** Makes and keeps one key, and what the app keeps beside it. */
export interface Device {
  readonly factor: "FACTOR_BIOMETRY" | "FACTOR_DEVICE_OWNER";
  /** KeyProtection of the API. */
  readonly protection: string;
  /** BASE64URL_TEXT: the key signs texts only, and gets the text of the bytes. */
  readonly form: "RAW" | "BASE64URL_TEXT";
  posture(): Promise<Posture>;
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

export class DeviceKeys {
  private open?: { begun: Begun; binding_id: string; shown?: Transaction; again: boolean };

  constructor(private readonly app: App, private readonly device: Device) {}

  /** `profile_id`: who is logged in. */
  async status(profile_id: string | null = null): Promise<State> {
    const { binding = null, installation } = await this.device.load();
    return stateOf(binding, installation, (await this.device.exists()) ? [this.device.factor] : [], profile_id);
  }

  /** Forgets key and binding here. The backend revokes the binding. */
  async disable(): Promise<void> {
    const { device_id, installation } = await this.device.load();
    await this.device.remove();
    await this.device.save({ device_id, installation });
  }

  /** Binds this device to the person who is logged in. */
  enable(profile_id: string, deviceName = "", reason = ""): Promise<Result> {
    return resultOf(async () => {
      const { app: { application_id, backend, languages }, device } = this;
      const { device_id, installation } = await device.load();
      const posture = await device.posture();
      const begun: Begun = normal(await backend.beginBinding({ deviceId: device_id, posture }));
      if (!begun.signing_input) return nextStep("begin", begun, languages);
      const bytes = fromBase64(begun.signing_input);
      const challenge = begun.challenge ? fromBase64(begun.challenge) : undefined;
      takeApart(bytes, { kind: "binding", application_id, profile_id, device_id, challenge });
      // From here on, the binding of before has no key.
      await this.disable();
      const publicKey = base64url(await device.create());
      const proof = { publicKey, protection: device.protection, ...(await this.signed(bytes, reason)) };
      const answer: Completed = normal(await backend.completeBinding({ ticket: begun.ticket, deviceName, posture, keys: [proof] }));
      const result = afterBinding(answer, languages);
      const binding = { binding_id: answer.binding!.binding_id, profile_id, installation, made: [device.factor] };
      await device.save({ device_id, installation, binding });
      return result;
    });
  }

  login(): Promise<Result> {
    return this.begin("login");
  }

  /** The app shows the transaction before it calls this: the key approves nothing else. */
  pay(transaction: Transaction): Promise<Result> {
    return this.begin("payment", transaction);
  }

  /** Prompts once more, in the same evaluation, after "try-again". */
  retry(): Promise<Result> {
    return resultOf(() => this.prove());
  }

  /** Answers "prompt" or "use-factor" by a secret of the service, in the same evaluation. */
  secret(attempt: { passcode: { passcode: string } } | { gesture: { points: number[] } }): Promise<Result> {
    return resultOf(() => this.submit(attempt, "FACTOR_" + ("passcode" in attempt ? "PASSCODE" : "GESTURE")));
  }

  private begin(policy: string, transaction?: Transaction): Promise<Result> {
    return resultOf(async () => {
      const { binding } = await this.device.load();
      const { status, forget } = await this.status();
      if (forget.length) await this.disable();
      if (!binding || status !== "ready") return { step: "bind-again" };
      const { binding_id } = binding;
      const posture = await this.device.posture();
      const begun: Begun = normal(await this.app.backend.beginEvaluation({ policy, transaction, bindingId: binding_id, posture }));
      this.open = { begun, binding_id, shown: transaction, again: false };
      await this.forgetIfGone(begun);
      const next = nextStep("begin", begun, this.app.languages);
      return next.factor === this.device.factor ? this.prove() : next;
    });
  }

  private async prove(): Promise<Result> {
    if (!this.open) return { step: "begin-again" };
    const { begun, binding_id, shown, again } = this.open;
    const bytes = fromBase64(`${begun.signing_input}`);
    takeApart(bytes, { kind: "evaluation", application_id: this.app.application_id, binding_id, shown });
    const { factor } = this.device;
    try {
      const signed = await this.signed(bytes, begun.presentation?.localized_reason ?? "");
      return await this.submit({ key: { factor, ...signed } });
    } catch (error) {
      if (!(error instanceof PromptError)) throw error;
      if (error.send !== null) return this.submit({ report: { laError: error.send } });
      this.open.again = true;
      const next_factors = begun.factors?.filter((other) => other !== factor);
      const next = nextStep("prompt", { means: error.means, again, factor, next_factors });
      if (next.step === "bind-again") await this.disable();
      return next;
    }
  }

  private async submit(attempt: object, factor: string = this.device.factor): Promise<Result> {
    if (!this.open) return { step: "begin-again" };
    const request = { evaluation: this.open.begun.evaluation, posture: await this.device.posture(), ...attempt };
    const answer: Completed = normal(await this.app.backend.submitAttempt(request));
    const next = nextStep("submit", { ...answer, factor }, this.app.languages);
    if (/^(done|begin-again|bind-again)$/.test(next.step)) this.open = undefined;
    await this.forgetIfGone(answer);
    return { ...next, answer };
  }

  private async forgetIfGone({ denial }: Answer): Promise<void> {
    if (/^BINDING_(UNKNOWN|REVOKED)$/.test(`${denial?.reason}`)) await this.disable();
  }

  private async signed(bytes: Uint8Array, reason: string): Promise<object> {
    const { form } = this.device;
    const signature = await this.device.sign(form === "RAW" ? bytes : utf8(base64url(bytes)), reason);
    return { signature: base64url(signature), signatureForm: `SIGNATURE_FORM_${form}` };
  }
}
