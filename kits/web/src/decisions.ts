// What an app decides without a prompt: what comes next, and what state it is in. Tests/Vectors/kit/README.md has the tables.

import { textFault, utf8 } from "./bytes.js";

/** DevicePosture, as JSON has it. */
export type Posture = ReturnType<typeof postureWith>;

/** A posture whose device `verifies` its user, or not. What a platform knows better, it changes. */
export function postureWith(platform: string, os_version: string, device_model: string, verifies: boolean) {
  return {
    platform,
    os_version,
    device_model,
    biometry_type: "BIOMETRY_TYPE_UNSPECIFIED",
    biometry_available: verifies,
    biometry_enrolled: verifies,
    biometry_locked_out: false,
    passcode_set: verifies,
    domain_state: "",
  };
}

type Text = { locale?: string; text?: string };

/** An answer of the service, as the backend relays it: names as in the .proto files. */
export type Answer = {
  factor?: string; factors?: string[]; next_factors?: string[]; outcome?: string; la_error?: number; domain_state?: string;
  retry_after?: number; denial?: { reason?: string; retry_after?: number; message?: Text }; message?: Text;
  advisories?: string[]; status?: string; reason?: string; means?: string; again?: boolean; code?: string;
};

export type Next = { step: string; factor?: string; seconds?: number; notices?: string[]; message?: string };

const factors = ["BIOMETRY", "DEVICE_OWNER", "PASSCODE", "GESTURE", "PASSKEY"].map((name) => `FACTOR_${name}`);

/** By step: the reasons of denials and of FAILED_PRECONDITION, and the statuses. All others lead to log-in. */
const steps: Record<string, string> = {
  "update-system": "OS_TOO_OLD DOMAIN_STATE_REQUIRED",
  "open-settings": "PASSCODE_NOT_SET BIOMETRY_NOT_AVAILABLE BIOMETRY_NOT_ENROLLED",
  "bind-again": "PLATFORM_DIFFERS BINDING_UNKNOWN BINDING_REVOKED NO_USABLE_FACTOR LEVEL_TOO_LOW APP_NOT_PROVEN NOT_FOUND",
  "set-secret": "PASSCODE_DISABLED GESTURE_DISABLED",
  "try-again": "WRONG_SECRET",
  "begin-again": "TICKET_INVALID DEADLINE_EXCEEDED CANCELLED CANCELED",
  "assert-again": "APP_ASSERTION_NOT_ACCEPTED",
  "replace-binding": "DEVICE_BOUND_TO_ANOTHER_PROFILE",
  "revoke-a-binding": "TOO_MANY_BINDINGS",
  wait: "PASSCODE_LOCKED GESTURE_LOCKED UNAVAILABLE RESOURCE_EXHAUSTED ABORTED",
  "fix-app":
    "APP_ASSERTION_REQUIRED ATTESTATION_REQUIRED ATTESTATION_CONTRADICTS_PROTECTION PASSKEYS_NOT_SERVED " +
    "INVALID_ARGUMENT UNAUTHENTICATED PERMISSION_DENIED UNIMPLEMENTED",
};
const stepOf = (name = "") => Object.keys(steps).find((step) => steps[step].split(" ").includes(name)) ?? "log-in";

function stepAfterFailure(error: number, usable?: string): [string, string?] {
  if (error === -5 || error === -7) return ["open-settings", usable];
  if (usable) return ["use-factor", usable];
  return [error === -1 ? "begin-again" : error === -6 ? "open-settings" : "log-in"];
}

function stepAt(at: string, answer: Answer): [string, string?] {
  const { outcome, factor, means, denial, status, reason } = answer;
  const all = answer.next_factors ?? answer.factors ?? [];
  const usable = all.find((one) => factors.includes(one));
  const hasChanged = /_CHANGED(_WITH_OS)?$/.test(`${answer.domain_state}`);
  if (at === "bind") return ["done"];
  if (at === "refused") return ["stop"];
  if (at === "failed") return [stepOf(status === "FAILED_PRECONDITION" ? reason : status)];
  if (at === "prompt") {
    if (means === "key-gone" || (means === "retry" && answer.again)) return ["bind-again", usable];
    return means === "retry" ? ["try-again", factor] : ["stay"];
  }
  if (denial) return [stepOf(denial.reason)];
  if (at === "begin") return usable ? ["prompt", usable] : [hasChanged && !all.length ? "bind-again" : "log-in"];
  switch (outcome?.replace("OUTCOME_", "")) {
    case "SUCCEEDED": return ["done"];
    case "TRY_AGAIN": return ["try-again", factor];
    case "CANCELED": return ["stay"];
    case "INVALID_CONTEXT": return ["begin-again"];
    case "FAILED": return stepAfterFailure(answer.la_error ?? 0, usable);
    case "FALLBACK": return usable ? ["use-factor", usable] : ["log-in"];
    case "LOCKED_OUT":
      if (usable) return ["use-factor", usable];
      return [answer.retry_after ? "wait" : factor === "FACTOR_PASSCODE" || factor === "FACTOR_GESTURE" ? "set-secret" : "log-in"];
    case "FACTOR_REQUIRED":
      if (usable) return ["use-factor", usable];
      return [all.includes("FACTOR_PRIMARY") ? "log-in" : hasChanged ? "bind-again" : "begin-again"];
  }
  return ["log-in"];
}

/** The locale that the service has for the first of `languages`. */
function localeFor(languages: string): string {
  const [first] = languages.toLowerCase().split(/[,; ]/);
  return /^zh(-|$)/.test(first) && (/-hans/.test(first) || !/-(hant|tw|hk|mo)/.test(first)) ? "zh-Hans" : "en";
}

/** What the app does next: `at` is "begin", "submit", "bind", "prompt", "failed" or "refused". */
export function nextStep(at: string, answer: Answer, languages = "en"): Next {
  const [step, factor] = stepAt(at, answer);
  const next: Next = { step };
  if (factor) next.factor = factor;
  if (step === "wait") next.seconds = Math.ceil(answer.retry_after ?? answer.denial?.retry_after ?? 1);
  const notices = (answer.advisories ?? []).filter((name) => /^(SLOW_PROMPT|NO_RECOVERY_FACTOR|DEVICE_REPLACED)$/.test(name));
  if (notices.length) next.notices = notices.map((name) => name.toLowerCase().replace(/_/g, "-"));
  const { locale, text = "" } = answer.message ?? answer.denial?.message ?? {};
  if (text && locale === localeFor(languages) && utf8(text).length <= 1024 && !textFault(text)) next.message = text;
  return next;
}

/** For how many seconds to rely on an evaluation or ticket, from its arrival on. */
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

/** Touch ID's state, from what the app keeps and finds. */
export function stateOf(kept: Kept | null, installation: string | null, found: string[], profile: string | null): State {
  if (!kept) return { status: "not-enabled", forget: found.length ? ["keys"] : [] };
  if (kept.installation !== installation) return { status: "reinstalled", forget: ["binding", "keys"] };
  if (profile !== null && profile !== kept.profile_id) return { status: "other-profile", forget: [] };
  return { status: kept.made.every((key) => found.includes(key)) ? "ready" : "bind-again", forget: [] };
}
