package touchstone.kit;

import java.util.Collection;
import java.util.List;

/** Touch ID's state on this phone, from what the app keeps and finds. */
public final class Status {
  /** One of ready, not-enabled, bind-again, reinstalled, other-profile. */
  public final String status;
  /** The things to delete first: binding, keys. */
  public final List<String> forget;

  private Status(String status, String... forget) {
    this.status = status;
    this.forget = List.of(forget);
  }

  /**
   * Judges what was kept.
   *
   * @param kept the binding, or null.
   * @param installation the id of this installation, which no backup brings along; null at the first start.
   * @param found the keys that are there: biometry, device-owner.
   * @param profile the account that is logged in, or null.
   */
  public static Status of(Kept kept, String installation, Collection<String> found, String profile) {
    if (kept == null) {
      return found.isEmpty() ? new Status("not-enabled") : new Status("not-enabled", "keys");
    }
    if (!kept.installation.equals(installation)) {
      return new Status("reinstalled", "binding", "keys");
    }
    boolean isTheirs = profile == null || profile.equals(kept.profileId);
    return new Status(!isTheirs ? "other-profile" : found.containsAll(kept.made) ? "ready" : "bind-again");
  }

  /** A binding as the app keeps it. */
  public static final class Kept {
    public final String bindingId;
    public final String profileId;
    public final String installation;
    public final List<String> made;

    public Kept(String bindingId, String profileId, String installation, List<String> made) {
      this.bindingId = bindingId;
      this.profileId = profileId;
      this.installation = installation;
      this.made = List.copyOf(made);
    }
  }
}
