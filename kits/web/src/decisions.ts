// Decides what the app does next, and which state it is in. Tests/Vectors/kit/README.md has the tables.

import { legible } from "./bytes.js";
import { languageOf } from "./language.js";

/** DevicePosture, as JSON has it. */
export type Posture = {
  platform: string; os_version: string; device_model: string; biometry_type: string; biometry_available: boolean; biometry_enrolled: boolean;
  biometry_locked_out: boolean; passcode_set: boolean; domain_state: string;
};

/** Returns the posture of a browser, whose device verifies its user or not. */
export function browserPosture(os_version: string, verifies: boolean): Partial<Posture> {
  return { platform: "web", os_version, biometry_available: verifies, biometry_enrolled: verifies, passcode_set: verifies };
}

type Text = { locale?: string; text?: string };

/** An answer of the service, as the backend relays it: names as in the .proto files. */
export type Answer = {
  factor?: string; factors?: string[]; next_factors?: string[]; outcome?: string; la_error?: number; domain_state?: string;
  retry_after?: number; denial?: { reason?: string; retry_after?: number; message?: Text }; message?: Text;
  advisories?: string[]; status?: string; reason?: string; means?: string; again?: boolean; code?: string;
  /** The kit found a key of the binding dead. */
  key_gone?: boolean;
};

export type Next = { step: string; factor?: string; seconds?: number; notices?: string[]; message?: string };

const usableFactor = /^FACTOR_(BIOMETRY|DEVICE_OWNER|PASSCODE|GESTURE|PASSKEY)$/;
const maximumSeconds = 86_400; // A person who must wait for more than a day begins anew.
const maximumMessageBytes = 1024;

/** By step: the reasons of denials and of FAILED_PRECONDITION, the statuses, and the ends of a prompt. All others lead to log-in. */
const steps: Record<string, string> = {
  "update-system": "OS_TOO_OLD DOMAIN_STATE_REQUIRED",
  "open-settings": "PASSCODE_NOT_SET BIOMETRY_NOT_AVAILABLE BIOMETRY_NOT_ENROLLED no-passcode unavailable not-enrolled",
  "bind-again": "PLATFORM_DIFFERS BINDING_UNKNOWN BINDING_REVOKED NO_USABLE_FACTOR LEVEL_TOO_LOW APP_NOT_PROVEN NOT_FOUND",
  "set-secret": "PASSCODE_DISABLED GESTURE_DISABLED",
  "try-again": "WRONG_SECRET",
  "begin-again": "TICKET_INVALID DEADLINE_EXCEEDED CANCELLED CANCELED failure",
  stay: "cancel",
  "assert-again": "APP_ASSERTION_NOT_ACCEPTED",
  "replace-binding": "DEVICE_BOUND_TO_ANOTHER_PROFILE",
  "revoke-a-binding": "TOO_MANY_BINDINGS",
  wait: "PASSCODE_LOCKED GESTURE_LOCKED UNAVAILABLE RESOURCE_EXHAUSTED ABORTED",
  "fix-app":
    "APP_ASSERTION_REQUIRED ATTESTATION_REQUIRED ATTESTATION_CONTRADICTS_PROTECTION PASSKEYS_NOT_SERVED " +
    "INVALID_ARGUMENT UNAUTHENTICATED PERMISSION_DENIED UNIMPLEMENTED",
};
const stepOf = (name = "") => Object.keys(steps).find((step) => steps[step].split(" ").includes(name)) ?? "log-in";

function stepAt(at: string, answer: Answer): [string, string?] {
  const { outcome, factor, means, denial, status, reason, la_error } = answer;
  const all = answer.next_factors ?? answer.factors ?? [];
  const usable = all.find((one) => usableFactor.test(one));
  const hasChanged = /_CHANGED/.test(`${answer.domain_state}`);
  const useOr = (step: string): [string, string?] => (usable ? ["use-factor", usable] : [step]);
  if (at === "bind") return ["done"];
  if (at === "refused") return ["stop"];
  if (at === "failed") return [stepOf(status === "FAILED_PRECONDITION" ? reason : status)];
  if (at === "prompt") {
    if (means === "key-gone" || (means === "retry" && answer.again)) return ["bind-again", usable];
    return means === "retry" ? ["try-again", factor] : [stepOf(means)];
  }
  if (at === "begin") return denial ? [stepOf(denial.reason)] : usable ? ["prompt", usable] : [hasChanged && !all.length ? "bind-again" : "log-in"];
  switch (outcome?.split(/^OUTCOME_/)[1]) {
    case "SUCCEEDED": return ["done"];
    case "TRY_AGAIN": return ["try-again", factor];
    case "CANCELED": return ["stay"];
    case "INVALID_CONTEXT": return ["begin-again"];
    case "FAILED":
      if (denial) return [stepOf(denial.reason)];
      if (la_error === -5 || la_error === -7) return ["open-settings", usable];
      return useOr(la_error === -1 ? "begin-again" : la_error === -6 ? "open-settings" : "log-in");
    case "FALLBACK": return useOr("log-in");
    case "LOCKED_OUT":
      return useOr(answer.retry_after! > 0 ? "wait" : /_(PASSCODE|GESTURE)$/.test(`${factor}`) ? "set-secret" : "log-in");
    case "FACTOR_REQUIRED": return useOr(all.includes("FACTOR_PRIMARY") ? "log-in" : hasChanged ? "bind-again" : "begin-again");
  }
  return ["log-in"];
}

/** Returns what the app does next: `at` is "begin", "submit", "bind", "prompt", "failed" or "refused". */
export function nextStep(at: string, answer: Answer, languages = "en"): Next {
  const [step, factor] = stepAt(at, answer);
  const next: Next = { step };
  if (factor) next.factor = factor;
  if (step === "wait") next.seconds = Math.min(maximumSeconds, Math.max(1, Math.ceil((answer.denial ?? answer).retry_after!) || 1));
  const notices = (answer.advisories ?? []).filter((name) => /^(SLOW_PROMPT|NO_RECOVERY_FACTOR|DEVICE_REPLACED)$/.test(name));
  if (step === "done" && answer.key_gone) notices.push("BIND_AGAIN");
  if (notices.length) next.notices = notices.map((name) => name.toLowerCase().replace(/_/g, "-"));
  const { locale, text } = answer.message ?? answer.denial?.message ?? {};
  const message = locale === languageOf(languages) && legible(text, maximumMessageBytes);
  if (message) next.message = message;
  return next;
}

/** Returns for how many seconds to rely on an evaluation or ticket, from its arrival on. */
export function lifetimeOf(expiresAt: number, phoneTime: number): number {
  const seconds = expiresAt - phoneTime;
  return seconds >= 1 && seconds <= 600 ? seconds : 120;
}

/** A binding, as the app keeps it. */
export type Kept = { binding_id: string; profile_id: string; installation: string; made: string[] };

export interface State {
  status: "not-enabled" | "reinstalled" | "other-profile" | "bind-again" | "ready";
  forget: ("binding" | "keys")[];
}

/** Returns Touch ID's state, from what the app keeps and finds. */
export function stateOf(kept: Kept | null, installation: string | null, found: string[], profile: string | null): State {
  const is = (status: State["status"], ...forget: State["forget"]): State => ({ status, forget });
  if (!kept) return found.length ? is("not-enabled", "keys") : is("not-enabled");
  if (kept.installation !== installation) return is("reinstalled", "binding", "keys");
  if (profile !== null && profile !== kept.profile_id) return is("other-profile");
  return is(kept.made.every((key) => found.includes(key)) ? "ready" : "bind-again");
}
