// Passkeys in a web page: register, log in, pay, autofill, upgrade a password.

import { App, Begun, bindingOf, Completed, normal, Result, resultOf } from "./backend.js";
import { areEqual, base64url, fromBase64, Refusal, refuse } from "./bytes.js";
import { lifetimeOf, nextStep } from "./decisions.js";
import { Own, takeApart, Transaction } from "./signing-input.js";

/** How often autofill renews its options: eight hours of a page that stays open. */
const maximumRenewals = 320;

const encode = (buffer: ArrayBuffer | null) => base64url(new Uint8Array(buffer ?? []));
/** Older browsers lack parts of it, and TypeScript's library does, too. */
const api = () => (globalThis as any).PublicKeyCredential;

/** The results of errors of `navigator.credentials`; others lead to log-in. NotAllowedError is a cancel, a timeout, or no passkey. */
const afterError: Record<string, Result> = {
  NotAllowedError: { step: "stay" },
  AbortError: { step: "stay" },
  InvalidStateError: { step: "stay", notices: ["already-registered"] },
  SecurityError: { step: "fix-app" },
  TypeError: { step: "fix-app" },
};

/** The browser's answer ends a flow. */
class Ended extends Error {
  constructor(readonly result: Result) {
    super(result.step);
  }
}

async function run(flow: () => Promise<Result>): Promise<Result> {
  return resultOf(flow).catch((error) => (error instanceof Ended ? error.result : Promise.reject(error)));
}

export class Passkeys {
  /** Ends what waits for the person: a browser has one ceremony at a time. */
  private pending?: AbortController;

  constructor(private readonly app: App) {}

  /** Makes a passkey for the person who is logged in. `name`: as the person calls it. */
  register(profile_id: string, name = ""): Promise<Result> {
    return run(() => this.create(profile_id, name, false));
  }

  /** Right after a login by password: lets a password manager make a passkey without asking, if the browser can (conditional create). */
  upgrade(profile_id: string, name = ""): Promise<Result> {
    return run(async () => {
      const can = await api()?.getClientCapabilities?.();
      return can?.conditionalCreate ? this.create(profile_id, name, true) : { step: "stay" };
    });
  }

  /** Logs in by a policy of the application, and signs under no other one. */
  login(policy = "login"): Promise<Result> {
    return run(() => this.prove(policy));
  }

  /** The app shows the transaction before it calls this: the passkey approves nothing else. */
  pay(transaction: Transaction, policy = "payment"): Promise<Result> {
    return run(() => this.prove(policy, transaction));
  }

  /** Offers passkeys in an input with `autocomplete="username webauthn"`, until the person chooses one or `signal` aborts. */
  async autofill(signal?: AbortSignal, policy = "login"): Promise<Result> {
    if (!(await api()?.isConditionalMediationAvailable?.())) return { step: "log-in" };
    for (let renewal = 0; renewal < maximumRenewals && !signal?.aborted; renewal++) {
      const result = await run(() => this.prove(policy, undefined, true, signal));
      if (result.step !== "renew") return result;
    }
    return { step: "stay" };
  }

  private async create(profile_id: string, deviceName: string, conditional: boolean): Promise<Result> {
    if (!api()) return { step: "log-in" };
    const { application_id, backend, languages } = this.app;
    const begun: Begun = normal(await backend.beginBinding({ passkey: { conditional } }));
    if (!begun.passkey_options) return nextStep("begin", begun, languages);
    const options = await this.checked(begun, { kind: "binding", application_id, profile_id, device_id: "" });
    const { rawId, response }: any = await this.ask("create", options, conditional);
    const passkey = {
      attestationObject: encode(response.attestationObject),
      clientDataJson: encode(response.clientDataJSON),
      transports: response.getTransports?.() ?? [],
    };
    const answer: Completed = normal(await backend.completeBinding({ ticket: begun.ticket, deviceName, passkey }));
    bindingOf(answer);
    await this.tellPasswordManager(encode(rawId));
    return { ...nextStep("bind", answer, languages), answer };
  }

  private async prove(policy: string, shown?: Transaction, conditional = false, signal?: AbortSignal): Promise<Result> {
    if (!api()) return { step: "log-in" };
    const { application_id, backend, languages } = this.app;
    const begun: Begun = normal(await backend.beginEvaluation({ policy, transaction: shown }));
    if (!begun.passkey_options) return nextStep("begin", begun, languages);
    const options = await this.checked(begun, { kind: "evaluation", application_id, binding_id: "", policy, shown });
    const lifetime = lifetimeOf(Date.parse(begun.expires_at ?? "") / 1000, Date.now() / 1000);
    const credential = await this.ask("get", options, conditional, signal, conditional ? lifetime : undefined);
    const response: any = credential.response;
    const passkey = {
      credentialId: encode(credential.rawId),
      authenticatorData: encode(response.authenticatorData),
      clientDataJson: encode(response.clientDataJSON),
      signature: encode(response.signature),
      userHandle: encode(response.userHandle),
    };
    const answer: Completed = normal(await backend.submitAttempt({ evaluation: begun.evaluation, passkey }));
    const next = nextStep("submit", { ...answer, factor: "FACTOR_PASSKEY" }, languages);
    if (next.step === "done") await this.tellPasswordManager(passkey.credentialId);
    return { ...next, answer };
  }

  /** The options, if their challenge is the digest of a signing input that is ours. */
  private async checked(begun: Begun, own: Own): Promise<any> {
    const bytes = fromBase64(begun.signing_input ?? "");
    takeApart(bytes, { ...own, challenge: begun.challenge });
    const challenge = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    try {
      const options = JSON.parse(begun.passkey_options ?? "");
      if (!areEqual(challenge, fromBase64(options.challenge))) refuse("other-challenge");
      const { user, excludeCredentials = [], allowCredentials = [] } = options;
      for (const named of [...excludeCredentials, ...allowCredentials, ...(user ? [user] : [])]) named.id = fromBase64(named.id);
      return { ...options, challenge };
    } catch (error) {
      throw error instanceof Refusal ? error : new Refusal("malformed-options");
    }
  }

  private async ask(
    method: "create" | "get", publicKey: object, conditional: boolean, signal?: AbortSignal, lifetime?: number,
  ): Promise<PublicKeyCredential> {
    this.pending?.abort();
    const controller = (this.pending = new AbortController());
    let isOver = false;
    const abort = () => controller.abort();
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort);
    // A quarter is left for what the person does after choosing a passkey.
    const timer = lifetime && setTimeout(() => { isOver = true; abort(); }, lifetime * 750);
    try {
      const mediation = conditional ? { mediation: "conditional" } : {};
      const options: object = { publicKey, signal: controller.signal, ...mediation };
      return (await navigator.credentials[method](options)) as PublicKeyCredential;
    } catch (error) {
      throw new Ended(isOver ? { step: "renew" } : afterError[(error as Error).name] ?? { step: "log-in" });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Says which passkeys are left. After a success only: after a failure it would drop a right passkey, or tell a stranger which ones there are. */
  private async tellPasswordManager(credentialId: string): Promise<void> {
    if (!api().signalAllAcceptedCredentials || !this.app.backend.acceptedPasskeys) return;
    try {
      const { rp_id: rpId, user_id, credential_ids } = normal(await this.app.backend.acceptedPasskeys());
      const [userId, ...allAcceptedCredentialIds] = [user_id, ...credential_ids].map((id) => base64url(fromBase64(id)));
      // A list without the passkey that has just succeeded is wrong, and would drop it.
      if (!allAcceptedCredentialIds.includes(credentialId)) return;
      await api().signalAllAcceptedCredentials({ rpId, userId, allAcceptedCredentialIds });
    } catch {
      // A hint alone: what came before it has succeeded.
    }
  }
}
