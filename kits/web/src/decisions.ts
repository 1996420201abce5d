// What an app decides without a prompt: postures, what errors mean, what comes next. Tests/Vectors/kit/README.md has the tables.

import { fromBase64, refuse, textFault, utf8 } from "./bytes.js";

/** What a platform answers; which of them depends on the platform. */
export type PlatformAnswers = {
  platform: string; system_version: string; model?: string;
  biometry_type?: number; biometrics_error?: number | null; device_owner_error?: number | null; domain_state?: string | null;
  can_authenticate?: number; device_secure?: boolean; locked_out?: boolean;
  user_verifying?: boolean;
};

/** DevicePosture, as JSON has it. */
export type Posture = ReturnType<typeof postureOf>;

/** Makes a posture of a platform's answers. */
export function postureOf(answers: PlatformAnswers) {
  const { platform, system_version, model = "", user_verifying = false } = answers;
  const isApple = ["ios", "ipados", "macos", "visionos"].includes(platform);
  if (!isApple && platform !== "android" && platform !== "web") refuse("unknown-platform");
  if (!system_version) refuse("no-os-version");
  if (utf8(system_version).length > 64 || utf8(model).length > 64) refuse("text-too-long");
  const posture = {
    platform,
    os_version: system_version,
    device_model: model,
    biometry_type: "BIOMETRY_TYPE_UNSPECIFIED",
    biometry_available: user_verifying,
    biometry_enrolled: user_verifying,
    biometry_locked_out: false,
    passcode_set: user_verifying,
    domain_state: "",
  };
  if (isApple) {
    const { biometrics_error, domain_state, biometry_type = -1 } = answers;
    const error = biometrics_error ?? 0;
    if (fromBase64(domain_state ?? "").length > 256) refuse("domain-state-too-long");
    posture.biometry_type = `BIOMETRY_TYPE_${["NONE", "TOUCH_ID", "FACE_ID", , "OPTIC_ID"][biometry_type] ?? "UNSPECIFIED"}`;
    posture.biometry_available = [0, -5, -7, -8].includes(error);
    posture.biometry_enrolled = error === 0 || error === -8;
    posture.biometry_locked_out = error === -8;
    posture.passcode_set = error !== -5 && answers.device_owner_error !== -5;
    if (error !== -8) posture.domain_state = domain_state ?? "";
  } else if (platform === "android") {
    const { can_authenticate, locked_out = false, device_secure = false } = answers;
    if (can_authenticate === 12) posture.biometry_type = "BIOMETRY_TYPE_NONE";
    posture.biometry_available = can_authenticate === 0 || can_authenticate === 11;
    posture.biometry_enrolled = can_authenticate === 0;
    posture.biometry_locked_out = locked_out;
    posture.passcode_set = device_secure;
  }
  return posture;
}

export type PlatformError = {
  platform: string; code?: number; callback?: string; exception?: string; closed_by_app?: boolean; fallback_button?: boolean;
};

/** What LAErrors from 0 to -10 mean. */
const meanings =
  "success failure cancel fallback cancel no-passcode unavailable not-enrolled lockout cancel retry".split(" ");

/** The LAError to send for an error, or what it means if nothing is sent. */
const errors: Record<string, Record<string, number | string>> = {
  "ios-os-status": {
    "0": "success", "-25300": "key-gone", "-26275": "key-gone", "-25299": "retry", "-25293": -1, "-128": -2, "-25308": -1004,
  },
  "ios-token": { "-2": "retry", "-3": "retry", "-9": "retry", "-6": "key-gone", "-4": -2, "-5": -1 },
  "android-prompt": { 2: -4, 3: -4, 5: -4, 7: -8, 9: -8, 10: -2, 11: -7, 13: -2, 14: -5 },
  "android-callback": { onAuthenticationSucceeded: "success", onAuthenticationFailed: -1 },
  "android-exception": {
    KeyPermanentlyInvalidatedException: "key-gone", UnrecoverableKeyException: "key-gone", KeyNotFound: "key-gone",
    UserNotAuthenticatedException: "retry", SignatureException: "retry",
  },
};

/** What an error of a platform means, and which LAError to report for it (null: none). */
export function errorOf(error: PlatformError): { send: number | null; means: string } {
  const { platform, code, callback, exception, closed_by_app, fallback_button } = error;
  if (closed_by_app && code === (platform === "android-prompt" ? 5 : -9)) return { send: null, means: "cancel" };
  let send = platform === "ios-la-error" ? code : errors[platform]?.[code ?? callback ?? exception ?? ""];
  if (fallback_button && code === 13) send = -3;
  send ??= -6;
  return typeof send === "string" ? { send: null, means: send } : { send: send || null, means: meanings[-send] ?? "unavailable" };
}

/** An answer of the service, as the backend relays it: names as in the .proto files. */
export type Answer = {
  factor?: string; factors?: string[]; next_factors?: string[]; outcome?: string; la_error?: number; domain_state?: string;
  retry_after?: number; denial?: { reason?: string; retry_after?: number }; message?: { locale?: string; text?: string };
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
  "begin-again": "TICKET_INVALID DEADLINE_EXCEEDED CANCELLED",
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
  const hasChanged = /_CHANGED(_WITH_OS)?$/.test(answer.domain_state ?? "");
  if (at === "bind") return ["done"];
  if (at === "refused") return ["stop"];
  if (at === "failed") return [stepOf(status === "FAILED_PRECONDITION" ? reason : status)];
  if (at === "prompt") {
    if (means === "key-gone" || (means === "retry" && answer.again)) return ["bind-again", usable];
    return means === "retry" ? ["try-again", factor] : ["stay"];
  }
  if (denial) return [stepOf(denial.reason)];
  if (at === "begin") return usable ? ["prompt", usable] : [hasChanged && !all.length ? "bind-again" : "log-in"];
  switch (outcome) {
    case "OUTCOME_SUCCEEDED": return ["done"];
    case "OUTCOME_TRY_AGAIN": return ["try-again", factor];
    case "OUTCOME_CANCELED": return ["stay"];
    case "OUTCOME_INVALID_CONTEXT": return ["begin-again"];
    case "OUTCOME_FAILED": return stepAfterFailure(answer.la_error ?? 0, usable);
    case "OUTCOME_FALLBACK": return usable ? ["use-factor", usable] : ["log-in"];
    case "OUTCOME_LOCKED_OUT":
      if (usable) return ["use-factor", usable];
      return [answer.retry_after ? "wait" : factor === "FACTOR_PASSCODE" || factor === "FACTOR_GESTURE" ? "set-secret" : "log-in"];
    case "OUTCOME_FACTOR_REQUIRED":
      if (usable) return ["use-factor", usable];
      return [all.includes("FACTOR_PRIMARY") ? "log-in" : hasChanged ? "bind-again" : "begin-again"];
  }
  return ["log-in"];
}

/** The locale that the service has for the first of `languages`. */
function localeFor(languages: string): string {
  const tags = languages.toLowerCase().split(/[,;\s]/)[0].split("-");
  const isTraditional = tags.some((tag) => /^(hant|tw|hk|mo)$/.test(tag)) && !tags.includes("hans");
  return tags[0] === "zh" && !isTraditional ? "zh-Hans" : "en";
}

/** What the app does next: `at` is "begin", "submit", "bind", "prompt", "failed" or "refused". */
export function nextStep(at: string, answer: Answer, languages = "en"): Next {
  const [step, factor] = stepAt(at, answer);
  const next: Next = { step };
  if (factor) next.factor = factor;
  if (step === "wait") next.seconds = Math.ceil(answer.retry_after ?? answer.denial?.retry_after ?? 1);
  const notices = (answer.advisories ?? []).filter((name) => /^(SLOW_PROMPT|NO_RECOVERY_FACTOR|DEVICE_REPLACED)$/.test(name));
  if (notices.length) next.notices = notices.map((name) => name.toLowerCase().replace(/_/g, "-"));
  const { locale, text = "" } = answer.message ?? {};
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
