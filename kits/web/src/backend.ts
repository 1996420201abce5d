// The app's own backend, which relays each call to Touchstone. Names are those of the .proto files, bytes are base64.

import { Refusal, refuse } from "./bytes.js";
import { Answer, Next, nextStep } from "./decisions.js";

/** An answer of BeginBinding or BeginEvaluation. Ticket and evaluation may stay in the backend's session. */
export type Begun = Answer & {
  ticket?: string; evaluation?: string; challenge?: string; signing_input?: string; passkey_options?: string; expires_at?: string;
  presentation?: { localized_reason?: string };
};

/** An answer of CompleteBinding or SubmitAttempt. */
export type Completed = Answer & { binding?: { binding_id: string }; profile_id?: string; token?: string };

/** Each method is a call to the backend. It adds the application and the person's login, and calls the service's method of that name. */
export interface Backend {
  beginBinding(request: object): Promise<Begun>;
  completeBinding(request: object): Promise<Completed>;
  beginEvaluation(request: object): Promise<Begun>;
  submitAttempt(request: object): Promise<Completed>;
  /** A backend without it leaves a disabled binding at the service; its key is gone. */
  revokeBinding?(request: { bindingId: string }): Promise<unknown>;
  /** Returns the person's passkeys that the service accepts, for the password manager. Called after a success alone. */
  acceptedPasskeys?(): Promise<{ rp_id: string; user_id: string; credential_ids: string[] }>;
}

/** A call that the backend or the service refused. */
export class CallError extends Error {
  constructor(readonly status: string, readonly reason?: string, readonly retry_after?: number) {
    super(reason || status);
    this.name = "CallError";
  }
}

/** The end of a prompt without a signature: `means` and `send` of `errorOf`. */
export class PromptError extends Error {
  constructor(readonly means: string, readonly send: number | null = null) {
    super(means);
  }
}

const laErrors: Record<string, number> = {
  AUTHENTICATION_FAILED: -1, PASSCODE_NOT_SET: -5, BIOMETRY_NOT_AVAILABLE: -6, BIOMETRY_NOT_ENROLLED: -7,
};

/** JSON of protobuf, with the names of the .proto files and plain numbers. */
export function normal(value: any, name = ""): any {
  if (Array.isArray(value)) return value.map((element) => normal(element));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => {
      key = key.replace(/[A-Z]/g, "_$&").toLowerCase();
      return [key, normal(inner, key)];
    }));
  }
  if (typeof value !== "string") return value;
  return name === "la_error" ? laErrors[value.slice(9)] ?? 0 : name.startsWith("retry_") ? parseFloat(value) : value;
}

/** Posts JSON to `base`/BeginBinding and so on, as the other kits do. A refused call has Connect's error, as the service's JSON has it. */
export function fetchBackend(base: string, init: RequestInit = {}): Required<Backend> {
  const to = (method: string) => async (request: object = {}) => {
    const headers = { "content-type": "application/json", ...init.headers };
    const sent = fetch(`${base}/${method}`, { ...init, method: "POST", headers, body: JSON.stringify(request) });
    const response = await sent.catch(() => Promise.reject(new CallError("UNAVAILABLE")));
    const body = normal(await response.json().catch(() => ({})));
    if (response.ok) return body;
    const { code = response.status < 500 ? "UNKNOWN" : "UNAVAILABLE", details = [] } = body;
    const { reason, retry_delay } = Object.assign({}, ...details.map((detail: any) => detail.debug));
    throw new CallError(code.toUpperCase(), reason, retry_delay);
  };
  const methods = "beginBinding completeBinding beginEvaluation submitAttempt revokeBinding acceptedPasskeys".split(" ");
  return Object.fromEntries(methods.map((name) => [name, to(name[0].toUpperCase() + name.slice(1))])) as unknown as Required<Backend>;
}

/** The application, how to reach its backend, and the languages that the backend sends to the service in `accept-language`. */
export type App = { application_id: string; backend: Backend; languages?: string };

/** The app's next step. `answer` has `profile_id` and `token` after a login, `binding` after a binding; `refused` says why nothing was signed. */
export type Result = Next & { answer?: Completed; refused?: string };

/** Returns the new binding's id. The service gives each binding one. */
export function bindingOf(answer: Completed): string {
  return answer.binding?.binding_id || refuse("no-binding");
}

/** Runs a flow. A refusal of the kit, the end of a prompt and a call that failed are results, too. */
export async function resultOf(flow: () => Promise<Result>): Promise<Result> {
  try {
    return await flow();
  } catch (error) {
    if (error instanceof Refusal) return { step: "stop", refused: error.code };
    if (error instanceof PromptError) return nextStep("prompt", { ...(error as object) });
    if (error instanceof CallError) return nextStep("failed", { ...(error as object) });
    throw error;
  }
}
