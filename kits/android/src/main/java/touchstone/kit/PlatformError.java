package touchstone.kit;

/** What a platform's answer to a prompt means, and which LAError the app reports to the service; {@code send} is null for nothing. */
public final class PlatformError {
  public final Integer send;
  /** One of success, failure, cancel, fallback, lockout, unavailable, not-enrolled, no-passcode, key-gone, retry. */
  public final String means;

  private PlatformError(Integer send, String means) {
    this.send = send;
    this.means = means;
  }

  /** An LAError. A code that nobody knows is reported as it is. */
  public static PlatformError ofLAError(int code, boolean closedByApp) {
    return code == 0 || code == -9 && closedByApp ? nothing(code == 0 ? "success" : "cancel") : reported(code);
  }

  /** An OSStatus of Apple's keychain. */
  public static PlatformError ofOSStatus(int code) {
    switch (code) {
      case 0: return nothing("success");
      case -25300: // errSecItemNotFound
      case -26275: return nothing("key-gone"); // errSecDecode
      case -25299: return nothing("retry"); // errSecDuplicateItem
      case -25293: return reported(-1); // errSecAuthFailed
      case -128: return reported(-2); // errSecUserCanceled
      case -25308: return reported(-1004); // errSecInteractionNotAllowed
      default: return reported(-6);
    }
  }

  /**
   * A code of BiometricPrompt's {@code onAuthenticationError}.
   *
   * @param fallbackButton whether the negative button had {@code fallback_title}.
   * @param closedByApp whether the app called {@code cancelAuthentication} itself.
   */
  public static PlatformError ofPrompt(int code, boolean fallbackButton, boolean closedByApp) {
    switch (code) {
      case 5: return closedByApp ? nothing("cancel") : reported(-4); // ERROR_CANCELED
      case 2: // ERROR_UNABLE_TO_PROCESS
      case 3: return reported(-4); // ERROR_TIMEOUT
      case 7: // ERROR_LOCKOUT
      case 9: return reported(-8); // ERROR_LOCKOUT_PERMANENT
      case 10: return reported(-2); // ERROR_USER_CANCELED
      case 11: return reported(-7); // ERROR_NO_BIOMETRICS
      case 13: return reported(fallbackButton ? -3 : -2); // ERROR_NEGATIVE_BUTTON
      case 14: return reported(-5); // ERROR_NO_DEVICE_CREDENTIAL
      default: return reported(-6);
    }
  }

  /** BiometricPrompt's {@code onAuthenticationFailed}: the person was not recognised, and the prompt stays. */
  public static PlatformError ofFailure() {
    return reported(-1);
  }

  /** An exception of the Keystore. Android's own are known by their names, so that every JVM can load this class. */
  public static PlatformError ofException(Throwable error) {
    return ofException(error.getClass().getSimpleName());
  }

  static PlatformError ofException(String name) {
    switch (name) {
      case "KeyPermanentlyInvalidatedException":
      case "UnrecoverableKeyException":
      case "KeyNotFound": return nothing("key-gone");
      case "UserNotAuthenticatedException":
      case "SignatureException": return nothing("retry"); // "Key user not authenticated"
      default: return reported(-6);
    }
  }

  private static PlatformError nothing(String means) {
    return new PlatformError(null, means);
  }

  private static PlatformError reported(int code) {
    switch (code) {
      case -1: return new PlatformError(code, "failure");
      case -2:
      case -4:
      case -9: return new PlatformError(code, "cancel");
      case -3: return new PlatformError(code, "fallback");
      case -5: return new PlatformError(code, "no-passcode");
      case -7: return new PlatformError(code, "not-enrolled");
      case -8: return new PlatformError(code, "lockout");
      case -10: return new PlatformError(code, "retry");
      default: return new PlatformError(code, "unavailable");
    }
  }
}
