// The app's own backend, which relays each call to Touchstone. Names are those of the .proto files, bytes are base64.

import { Refusal } from "./bytes.js";
import { Answer, Next, nextStep } from "./decisions.js";

/** What BeginBinding and BeginEvaluation answered. Ticket and evaluation may stay in the backend's session. */
export type Begun = Answer & {
  ticket?: string; evaluation?: string; challenge?: string; signing_input?: string; passkey_options?: string; expires_at?: string;
  presentation?: { localized_reason?: string };
};

/** What CompleteBinding and SubmitAttempt answered. */
export type Completed = Answer & { binding?: { binding_id: string }; profile_id?: string; token?: string };

/** Each method is a call to the backend. It adds the application and the person's login, and calls the service's method of that name. */
export interface Backend {
  beginBinding(request: object): Promise<Begun>;
  completeBinding(request: object): Promise<Completed>;
  beginEvaluation(request: object): Promise<Begun>;
  submitAttempt(request: object): Promise<Completed>;
  /** The person's passkeys that the service accepts, for the password manager. Asked after a success alone. */
  acceptedPasskeys?(): Promise<{ rp_id: string; user_id: string; credential_ids: string[] }>;
}

/** A call that the backend or the service refused. */
export class CallError extends Error {
  constructor(readonly status: string, readonly reason?: string, readonly retry_after?: number) {
    super(reason || status);
    this.name = "CallError";
  }
}

/** What a prompt, or the use of a key, ended with, as `errorOf` says it. */
export class PromptError extends Error {
  constructor(readonly means: string, readonly send: number | null = null) {
    super(means);
    this.name = "PromptError";
  }
}

const laErrors: Record<string, number> = {
  AUTHENTICATION_FAILED: -1, PASSCODE_NOT_SET: -5, BIOMETRY_NOT_AVAILABLE: -6, BIOMETRY_NOT_ENROLLED: -7,
};

/** JSON of protobuf, with the names of the .proto files and plain numbers. */
export function normal(value: any, name = ""): any {
  if (Array.isArray(value)) return value.map((element) => normal(element));
  if (value && typeof value === "object") {
    const plain = (key: string) => key.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase());
    return Object.fromEntries(Object.keys(value).map((key) => [plain(key), normal(value[key], plain(key))]));
  }
  if (typeof value !== "string") return value;
  return name === "la_error" ? laErrors[value.slice(9)] ?? 0 : name.startsWith("retry_") ? parseFloat(value) : value;
}

/** Posts JSON to `base`/BeginBinding and so on, as the other kits do. A refused call has Connect's error, as the service's JSON has it. */
export function fetchBackend(base: string, init: RequestInit = {}): Required<Backend> {
  const to = (method: string) => async (request: object = {}) => {
    const headers = { "content-type": "application/json", ...init.headers };
    const sent = fetch(`${base}/${method}`, { ...init, method: "POST", headers, body: JSON.stringify(request) });
    const response = await sent.catch(() => { throw new CallError("UNAVAILABLE"); });
    const body = normal(await response.json().catch(() => ({})));
    if (response.ok) return body;
    const { code = response.status < 500 ? "UNKNOWN" : "UNAVAILABLE", details = [] } = body;
    const { reason, retry_delay } = Object.assign({}, ...details.map((detail: any) => detail.debug));
    throw new CallError(code.toUpperCase(), reason, retry_delay);
  };
  const [beginBinding, completeBinding, beginEvaluation, submitAttempt, acceptedPasskeys] =
    ["BeginBinding", "CompleteBinding", "BeginEvaluation", "SubmitAttempt", "AcceptedPasskeys"].map(to);
  return { beginBinding, completeBinding, beginEvaluation, submitAttempt, acceptedPasskeys };
}

/** The application, how to reach its backend, and the languages of `accept-language`. */
export type App = { application_id: string; backend: Backend; languages?: string };

/** What the app does next. `answer` has `profile_id` and `token` after a login, `binding` after a binding; `refused` says why nothing was signed. */
export type Result = Next & { answer?: Completed; refused?: string };

/** What comes next after CompleteBinding. An answer without a binding is no answer of the service. */
export function afterBinding(answer: Completed, languages?: string): Result {
  if (!answer.binding?.binding_id) throw new CallError("INTERNAL");
  return { ...nextStep("bind", answer, languages), answer };
}

/** Runs a flow. What the kit refused, a prompt that ended, or a call that failed, is a result, too. */
export async function resultOf(flow: () => Promise<Result>): Promise<Result> {
  try {
    return await flow();
  } catch (error) {
    if (error instanceof Refusal) return { ...nextStep("refused", {}), refused: error.code };
    if (error instanceof PromptError) return nextStep("prompt", { means: error.means });
    if (error instanceof CallError) return nextStep("failed", { ...error, message: undefined });
    throw error;
  }
}
