package touchstone.kit;

import java.util.List;

/** A report of a phone about itself, read anew for each call. Fields are named as in the API. */
public final class Posture {
  private static final List<String> APPLE = List.of("ios", "ipados", "macos", "visionos");
  private static final int MOST_TEXT_BYTES = 64;
  private static final int MOST_DOMAIN_STATE_BYTES = 256;

  public final String platform;
  public final String osVersion;
  public final String deviceModel;
  public String biometryType = "BIOMETRY_TYPE_UNSPECIFIED";
  public boolean biometryAvailable;
  public boolean biometryEnrolled;
  public boolean biometryLockedOut;
  public boolean passcodeSet;
  public byte[] domainState = {};

  private Posture(String platform, String osVersion, String deviceModel) {
    KitException.require(!osVersion.isEmpty(), "no-os-version");
    KitException.require(Texts.has(osVersion, 0, MOST_TEXT_BYTES) && Texts.has(deviceModel, 0, MOST_TEXT_BYTES), "text-too-long");
    this.platform = platform;
    this.osVersion = osVersion;
    this.deviceModel = deviceModel;
  }

  /**
   * Returns Android's posture, which has no domain state.
   *
   * @param canAuthenticate the answer of {@code BiometricManager.canAuthenticate(BIOMETRIC_STRONG)}.
   * @param deviceSecure {@code KeyguardManager.isDeviceSecure}.
   * @param lockedOut true from an error of lockout on, until a prompt or an evaluation succeeds.
   */
  public static Posture ofAndroid(String version, String model, int canAuthenticate, boolean deviceSecure, boolean lockedOut) {
    Posture posture = new Posture("android", version, model);
    posture.biometryType = canAuthenticate == 12 ? "BIOMETRY_TYPE_NONE" : posture.biometryType; // ERROR_NO_HARDWARE
    posture.biometryEnrolled = canAuthenticate == 0;
    posture.biometryAvailable = canAuthenticate == 0 || canAuthenticate == 11; // ERROR_NONE_ENROLLED
    posture.biometryLockedOut = lockedOut;
    posture.passcodeSet = deviceSecure;
    return posture;
  }

  /** Returns Apple's posture, from the errors of canEvaluatePolicy (0: none) for biometrics and the device's owner. */
  public static Posture ofApple(
      String platform, String version, String model, int type, int biometricsError, int ownerError, byte[] domainState) {
    KitException.require(APPLE.contains(platform), "unknown-platform");
    Posture posture = new Posture(platform, version, model);
    posture.biometryType = "BIOMETRY_TYPE_" + (type == 0 ? "NONE" : type == 1 ? "TOUCH_ID" : type == 2 ? "FACE_ID"
        : type == 4 ? "OPTIC_ID" : "UNSPECIFIED");
    posture.biometryLockedOut = biometricsError == -8;
    posture.biometryEnrolled = biometricsError == 0 || biometricsError == -8;
    posture.biometryAvailable = posture.biometryEnrolled || biometricsError == -7 || biometricsError == -5;
    posture.passcodeSet = biometricsError != -5 && ownerError != -5;
    KitException.require(domainState.length <= MOST_DOMAIN_STATE_BYTES, "domain-state-too-long");
    posture.domainState = posture.biometryLockedOut ? posture.domainState : domainState.clone();
    return posture;
  }

  /** Returns a browser's posture, whose device verifies its user or not. */
  public static Posture ofWeb(String version, boolean isUserVerifying) {
    Posture posture = new Posture("web", version, "");
    posture.biometryAvailable = posture.biometryEnrolled = posture.passcodeSet = isUserVerifying;
    return posture;
  }
}
