package android.security.keystore;

/** Android's names and numbers, as android.jar has them, for compilation alone. */
public abstract class KeyProperties {
  public static final int AUTH_DEVICE_CREDENTIAL = 1;
  public static final int AUTH_BIOMETRIC_STRONG = 2;
  public static final int PURPOSE_SIGN = 4;
  public static final String DIGEST_SHA256 = "SHA-256";
  public static final String KEY_ALGORITHM_EC = "EC";

  private KeyProperties() {}
}
