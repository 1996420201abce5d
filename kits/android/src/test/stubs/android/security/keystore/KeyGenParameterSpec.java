package android.security.keystore;

import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.List;

/** Android's class, for compilation, and for tests that read what was set. */
public final class KeyGenParameterSpec implements AlgorithmParameterSpec {
  public final String alias;
  public final List<String> set;

  private KeyGenParameterSpec(String alias, List<String> set) {
    this.alias = alias;
    this.set = set;
  }

  /** Notes each setting as a text. */
  public static final class Builder {
    private final String alias;
    private final List<String> set = new ArrayList<>();

    public Builder(String keystoreAlias, int purposes) {
      alias = keystoreAlias;
      set.add("purposes " + purposes);
    }

    public Builder setAlgorithmParameterSpec(AlgorithmParameterSpec spec) {
      return note("curve " + ((java.security.spec.ECGenParameterSpec) spec).getName());
    }

    public Builder setDigests(String... digests) {
      return note("digests " + String.join(",", digests));
    }

    public Builder setAttestationChallenge(byte[] challenge) {
      return note("challenge " + challenge.length);
    }

    public Builder setUserAuthenticationRequired(boolean required) {
      return note("authentication " + required);
    }

    public Builder setInvalidatedByBiometricEnrollment(boolean invalidated) {
      return note("invalidated " + invalidated);
    }

    public Builder setUserAuthenticationParameters(int timeout, int type) {
      return note("each use " + timeout + " by " + type);
    }

    public Builder setIsStrongBoxBacked(boolean backed) {
      return note("strongbox " + backed);
    }

    public KeyGenParameterSpec build() {
      return new KeyGenParameterSpec(alias, set);
    }

    private Builder note(String setting) {
      set.add(setting);
      return this;
    }
  }
}
