// Reads the platforms' answers: postures and errors. Tests/Vectors/kit/README.md has the tables.

import { fromBase64, refuse, utf8 } from "./bytes.js";
import { browserPosture, Posture } from "./decisions.js";

/** The answers of a platform. Each platform has some of them. */
export type PlatformAnswers = {
  platform: string; system_version: string; model?: string;
  biometry_type?: number; biometrics_error?: number | null; device_owner_error?: number | null; domain_state?: string | null;
  can_authenticate?: number; device_secure?: boolean; locked_out?: boolean;
  user_verifying?: boolean;
};

/** Makes a posture of a platform's answers. */
export function postureOf(answers: PlatformAnswers): Posture {
  const { platform, system_version, model = "", user_verifying = false } = answers;
  const isApple = ["ios", "ipados", "macos", "visionos"].includes(platform);
  if (!isApple && platform !== "android" && platform !== "web") refuse("unknown-platform");
  if (!system_version) refuse("no-os-version");
  if (utf8(system_version).length > 64 || utf8(model).length > 64) refuse("text-too-long");
  const posture: Posture = {
    platform, os_version: system_version, device_model: model, biometry_type: "BIOMETRY_TYPE_UNSPECIFIED", biometry_available: false,
    biometry_enrolled: false, biometry_locked_out: false, passcode_set: false, domain_state: "",
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
  } else {
    Object.assign(posture, browserPosture(system_version, user_verifying));
  }
  return posture;
}

export type PlatformError = {
  platform: string; code?: number; callback?: string; exception?: string; closed_by_app?: boolean; fallback_button?: boolean;
};

/** The meanings of the LAErrors from 0 to -10. */
const meanings =
  "success failure cancel fallback cancel no-passcode unavailable not-enrolled lockout cancel retry".split(" ");

/** The LAError to send for an error, or its meaning if nothing is sent. */
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

/** Returns the meaning of a platform's error, and the LAError to report for it (null: none). */
export function errorOf(error: PlatformError): { send: number | null; means: string } {
  const { platform, code, callback, exception, closed_by_app, fallback_button } = error;
  const isPrompt = platform === "android-prompt";
  if (closed_by_app && (isPrompt ? code === 5 : platform === "ios-la-error" && code === -9)) return { send: null, means: "cancel" };
  let send = platform === "ios-la-error" ? code : errors[platform]?.[code ?? callback ?? exception ?? ""];
  if (fallback_button && isPrompt && code === 13) send = -3;
  send ??= -6;
  return typeof send === "string" ? { send: null, means: send } : { send: send || null, means: meanings[-send] ?? "unavailable" };
}
