package android.security.keystore;

import java.security.ProviderException;

/** Android's class, for compilation alone. */
public class StrongBoxUnavailableException extends ProviderException {
  private static final long serialVersionUID = 1;
}
