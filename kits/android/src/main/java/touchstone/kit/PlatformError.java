package touchstone.kit;

import java.util.HashMap;
import java.util.Map;

/** The meaning of a platform's answer to a prompt, and the LAError that the app reports to the service. */
public final class PlatformError {
  /**
   * Each line: a kind of code, and for each code the LAError to report, or the meaning if nothing is reported. Others
   * are -6.
   */
  private static final Map<String, String> CODES = codes(
      "LAError 0:success",
      "OSStatus 0:success -25300:key-gone -26275:key-gone -25299:retry -25293:-1 -128:-2 -25308:-1004",
      "TKError -2:retry -3:retry -4:-2 -5:-1 -6:key-gone -9:retry",
      // BiometricPrompt: 2 unable to process, 3 timeout, 5 canceled, 7 and 9 lockouts, 10 user canceled, 11 no
      // biometrics, 13 negative button, 14 no device credential.
      "prompt 2:-4 3:-4 5:-4 7:-8 9:-8 10:-2 11:-7 13:-2 14:-5",
      // SignatureException: "Key user not authenticated".
      "exception KeyPermanentlyInvalidatedException:key-gone UnrecoverableKeyException:key-gone KeyNotFound:key-gone"
          + " UserNotAuthenticatedException:retry SignatureException:retry");
  private static final Map<String, String> MEANINGS = codes(
      "LAError -1:failure -2:cancel -3:fallback -4:cancel -5:no-passcode -7:not-enrolled -8:lockout -9:cancel -10:retry");

  /** The LAError to report; null if nothing is reported. */
  public final Integer send;
  /** One of success, failure, cancel, fallback, lockout, unavailable, not-enrolled, no-passcode, key-gone, retry. */
  public final String means;

  private PlatformError(String answer) {
    boolean isReported = answer.matches("-?\\d+");
    send = isReported ? Integer.valueOf(answer) : null;
    means = isReported ? MEANINGS.getOrDefault("LAError " + answer, "unavailable") : answer;
  }

  /** Reads a code of LocalAuthentication, and reports an unknown one. {@code closedByApp}: by {@code invalidate}. */
  public static PlatformError ofLAError(int code, boolean closedByApp) {
    return new PlatformError(
        closedByApp && code == -9 ? "cancel" : CODES.getOrDefault("LAError " + code, Integer.toString(code)));
  }

  /**
   * Reads a code of BiometricPrompt's {@code onAuthenticationError}.
   *
   * @param fallbackButton whether the negative button had {@code fallback_title}.
   * @param closedByApp whether the app called {@code cancelAuthentication}.
   */
  public static PlatformError ofPrompt(int code, boolean fallbackButton, boolean closedByApp) {
    return closedByApp && code == 5 ? new PlatformError("cancel")
        : fallbackButton && code == 13 ? new PlatformError("-3") : of("prompt", code);
  }

  /** Reads an exception of the Keystore. Android's are known by their names, so that every JVM can load this class. */
  public static PlatformError ofException(Throwable error) {
    // A shrinker renames classes of the app, and so the kit's.
    return of("exception", error instanceof Keys.KeyNotFound ? "KeyNotFound" : error.getClass().getSimpleName());
  }

  /** Reads a code of Apple's keychain ({@code OSStatus}) or Secure Enclave ({@code TKError}), or an exception. */
  public static PlatformError of(String kind, Object code) {
    return new PlatformError(CODES.getOrDefault(kind + " " + code, "-6"));
  }

  private static Map<String, String> codes(String... lines) {
    Map<String, String> codes = new HashMap<>();
    for (String line : lines) {
      String[] words = line.split(" ");
      for (int i = 1; i < words.length; i++) {
        String[] pair = words[i].split(":");
        codes.put(words[0] + " " + pair[0], pair[1]);
      }
    }
    return codes;
  }
}
