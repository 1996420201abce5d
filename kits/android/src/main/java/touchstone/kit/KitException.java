package touchstone.kit;

/**
 * A refusal by the kit. The code is for programs and the same in every kit: {@code other-application}, {@code
 * key-gone}.
 */
public final class KitException extends RuntimeException {
  private static final long serialVersionUID = 1;
  private final String code;

  KitException(String code, Throwable cause) {
    super("Touchstone's kit refused: " + code, cause);
    this.code = code;
  }

  static void require(boolean condition, String code) {
    if (!condition) {
      throw new KitException(code, null);
    }
  }

  public String getCode() {
    return code;
  }
}
