package touchstone.kit;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.ProviderException;
import java.security.Signature;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Fingerprint login and payment for an app. Its methods wait for the backend and for the person, so the main thread may
 * not call them. A second call waits for the first one.
 */
public final class TouchID {
  /** The seconds that an answer serves whose time cannot be right: the service's default. */
  private static final long USUAL_SECONDS = 120;
  private static final long MOST_SECONDS = 600;
  /** The prompts of one evaluation: three failures, and every other factor. A lying backend prompts no more often. */
  private static final int MOST_PROMPTS = 8;
  private static final List<String> KINDS = List.of(Keys.BIOMETRY, Keys.DEVICE_OWNER);
  /** The denials that end a binding. */
  private static final List<String> ENDED = List.of("BINDING_REVOKED", "BINDING_UNKNOWN");

  private final String application;
  private final Backend backend;
  private final Keys keys;
  private final Phone phone;
  /** The languages of the person, as the {@link Backend} sends them in the header accept-language. */
  public String languages = Locale.getDefault().toLanguageTag();

  private Answer open;
  private SigningInput input;
  private Transaction shown;
  /** Whether a key was found dead in this evaluation. */
  private boolean isKeyGone;
  /** The time of System.nanoTime until which the app relies on its last ticket or evaluation. */
  private long deadline;

  public TouchID(String application, Backend backend, Keys keys, Phone phone) {
    this.application = application;
    this.backend = backend;
    this.keys = keys;
    this.phone = phone;
  }

  /**
   * Returns the state on this phone. Calls nothing, but waits for a call that runs. {@code profile}: the
   * account that is logged in, or null.
   */
  public synchronized Status status(String profile) {
    List<String> found = new ArrayList<>();
    for (String kind : KINDS) {
      try {
        // A key that is there may be dead, too. Android says so when it is to sign.
        keys.signature(alias(set(), kind));
        found.add(kind);
      } catch (GeneralSecurityException | ProviderException error) {
        if (!PlatformError.ofException(error).means.equals("key-gone")) {
          found.add(kind);
        }
      }
    }
    return Status.of(kept(), phone.installation(), found, profile);
  }

  /**
   * Binds this phone to the person whom the app just logged in by other means. Prompts once for each key.
   *
   * @param title the title of these prompts.
   */
  public NextStep enable(String profile, String title) throws IOException {
    return enable(profile, title, false);
  }

  /**
   * Binds this phone in the same way. {@code replaceExisting} ends the binding of another person on this phone, after
   * the step "replace-binding".
   */
  public NextStep enable(String profile, String title, boolean replaceExisting) throws IOException {
    return answered(() -> {
      // Whether biometrics are still locked, the prompts will show: Android's lock may have ended long ago.
      phone.put("locked", null);
      Answer ticket = backend.beginBinding(device(), posture()).withoutNulls();
      if (!ticket.denial.isEmpty()) {
        return NextStep.afterBegin(ticket, languages);
      }
      deadline = deadline(ticket);
      SigningInput binding = SigningInput.ofBinding(ticket.signingInput, application, profile, device(), ticket.challenge);
      // The present keys stay until the new ones are bound.
      try {
        ticket.localizedReason = title;
        return bind(ticket, binding, profile, otherSet(), replaceExisting);
      } finally {
        deleteKeys(otherSet());
      }
    });
  }

  private NextStep bind(Answer ticket, SigningInput binding, String profile, String set, boolean replaceExisting)
      throws IOException, GeneralSecurityException {
    List<Backend.BoundKey> bound = new ArrayList<>();
    for (String kind : keys.kinds()) {
      Keys.Made made = keys.make(alias(set, kind), kind, Signatures.sha256(binding.bytes));
      Phone.Request request = new Phone.Request(factor(kind), ticket, null, application);
      Object result = prompt(request, alias(set, kind), binding.bytes, () -> true);
      if (result instanceof PlatformError) {
        return NextStep.afterPrompt(((PlatformError) result).means, false, factor(kind), List.of());
      }
      Backend.BoundKey key = new Backend.BoundKey();
      key.publicKey = PhoneKey.read(made.publicKey).spki;
      key.protection = kind.equals(Keys.BIOMETRY) ? "KEY_PROTECTION_BIOMETRY_CURRENT_SET" : "KEY_PROTECTION_DEVICE_PASSCODE";
      key.signature = (byte[]) result;
      key.certificateChain = made.certificates;
      bound.add(key);
    }
    Answer answer = backend.completeBinding(ticket.handle, bound, posture(), replaceExisting).withoutNulls();
    KitException.require(!answer.bindingId.isEmpty(), "no-binding");
    phone.put("keys", set);
    phone.put("profile", profile);
    phone.put("installation", phone.installation());
    phone.put("made", String.join(" ", keys.kinds()));
    phone.put("binding", answer.bindingId);
    return NextStep.afterBinding(answer);
  }

  /** Logs the person in by the policy "login": prompts for a finger, and for the device's passcode if need be. */
  public NextStep login() throws IOException {
    return evaluate("login", null);
  }

  /** Lets the person approve a payment by the policy "payment". The prompt shows it. */
  public NextStep pay(Transaction transaction) throws IOException {
    return evaluate("payment", transaction);
  }

  /**
   * Logs in or lets pay by this policy, and signs under no other one.
   *
   * @param transaction null if the policy is for logins.
   */
  public NextStep evaluate(String policy, Transaction transaction) throws IOException {
    return answered(() -> {
      open = null;
      isKeyGone = false;
      if (!status(null).forget.isEmpty()) {
        forget();
      }
      Status.Kept kept = kept();
      if (kept == null) {
        return new NextStep("bind-again", null);
      }
      Answer begun = backend.beginEvaluation(policy, kept.bindingId, posture(), transaction).withoutNulls();
      NextStep next = NextStep.afterBegin(begun, languages);
      if (!next.step.equals("prompt")) {
        return next;
      }
      input = SigningInput.ofEvaluation(begun.signingInput, application, kept.bindingId, policy, null, transaction);
      open = begun;
      deadline = deadline(begun);
      shown = transaction;
      return goOn(next, begun.factors);
    });
  }

  /** Goes on with a passcode of the service, after the step "use-factor" or "prompt" with FACTOR_PASSCODE. */
  public NextStep passcode(String passcode) throws IOException {
    Backend.Proof proof = new Backend.Proof();
    proof.factor = "FACTOR_PASSCODE";
    proof.passcode = passcode;
    return answered(() -> goOn(submit(proof), List.of()));
  }

  /** Goes on with a gesture, after the step "use-factor" or "prompt" with FACTOR_GESTURE. */
  public NextStep gesture(List<Integer> points) throws IOException {
    Backend.Proof proof = new Backend.Proof();
    proof.factor = "FACTOR_GESTURE";
    proof.gesture = List.copyOf(points);
    return answered(() -> goOn(submit(proof), List.of()));
  }

  /** Revokes the binding, forgets it and deletes the keys. Keeps the device id. A call that fails leaves everything. */
  public synchronized void disable() throws IOException {
    String binding = phone.get("binding");
    if (binding != null) {
      try {
        backend.revokeBinding(binding);
      } catch (Backend.CallFailed failed) {
        // The service does not know this binding any more.
        if (!failed.status.equals("NOT_FOUND")) {
          throw failed;
        }
      }
    }
    forget();
  }

  /** Forgets the binding without a call, as {@link Status#forget} wants it. */
  public synchronized void forget() {
    open = null;
    for (String name : List.of("binding", "profile", "installation", "made")) {
      phone.put(name, null);
    }
    deleteKeys("a");
    deleteKeys("b");
  }

  /** Prompts as long as a key of this phone can serve. */
  private NextStep goOn(NextStep first, List<String> factors) throws IOException {
    NextStep next = first;
    List<String> left = new ArrayList<>(factors);
    Set<String> dead = new HashSet<>();
    String again = null;
    for (int count = 0; count < MOST_PROMPTS && kind(next.factor) != null && !next.step.equals("open-settings"); count++) {
      String factor = next.factor;
      NextStep[] reported = new NextStep[1];
      Phone.Request request = new Phone.Request(factor, open, shown, application);
      Object result = prompt(request, alias(set(), kind(factor)), input.bytes, () -> {
        // The service counts a report of -1 against biometrics, and this was the phone's passcode.
        if (factor.equals("FACTOR_DEVICE_OWNER")) {
          return true;
        }
        reported[0] = report(-1, factor);
        return reported[0].step.equals("try-again");
      });
      String means = result instanceof PlatformError ? ((PlatformError) result).means : "success";
      if (means.equals("success") || means.equals("lockout")) {
        phone.put("locked", means.equals("lockout") ? "yes" : null);
      }
      left.remove(factor);
      if (result instanceof byte[]) {
        next = submit(proof(factor, (byte[]) result, null));
      } else if (means.equals("failure")) {
        next = reported[0];
      } else {
        Integer send = ((PlatformError) result).send;
        next = send != null ? report(send, factor) : NextStep.afterPrompt(means, factor.equals(again), factor, left);
      }
      if (means.equals("cancel")) {
        return next;
      }
      if (next.answer == null && next.step.equals("bind-again")) {
        dead.add(factor);
        isKeyGone = true;
      }
      left = next.answer == null ? left : new ArrayList<>(next.answer.nextFactors);
      left.removeAll(dead);
      again = factor;
    }
    return next;
  }

  private NextStep report(int laError, String factor) throws IOException {
    return submit(proof(factor, null, laError));
  }

  private static Backend.Proof proof(String factor, byte[] signature, Integer laError) {
    Backend.Proof proof = new Backend.Proof();
    proof.factor = factor;
    proof.signature = signature;
    proof.laError = laError;
    return proof;
  }

  private NextStep submit(Backend.Proof proof) throws IOException {
    if (open == null) {
      return new NextStep("begin-again", null);
    }
    Answer answer = backend.submitAttempt(open.handle, proof, posture()).withoutNulls();
    if (answer.outcome.equals("OUTCOME_SUCCEEDED")) {
      // Without a key for its passcode, a phone has no prompt whose success would say that its own lockout is over.
      phone.put("locked", null);
      isKeyGone = isKeyGone || status(null).status.equals("bind-again");
    }
    return NextStep.afterSubmit(answer, isKeyGone, proof.factor, languages);
  }

  /** Reports a failure at the prompt: false takes the prompt away. */
  private interface Failure {
    boolean isPromptKept() throws IOException;
  }

  /** Returns the signature, or a PlatformError. */
  private Object prompt(Phone.Request request, String alias, byte[] message, Failure failure) throws IOException {
    boolean isOpen = false;
    try {
      Signature signature = keys.signature(alias);
      Phone.Events events = new Phone.Events(request.isFallbackButton, deadline);
      isOpen = true;
      phone.show(request, signature, events);
      for (;;) {
        Object event = events.next();
        if (event instanceof Signature) {
          isOpen = false;
          ((Signature) event).update(message);
          return ((Signature) event).sign();
        }
        if (event == null) {
          return PlatformError.ofLAError(-9, true);
        }
        isOpen = ((PlatformError) event).means.equals("failure");
        if (!isOpen || !failure.isPromptKept()) {
          return event;
        }
      }
    } catch (GeneralSecurityException | ProviderException error) {
      return PlatformError.ofException(error);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return PlatformError.ofLAError(-9, true);
    } finally {
      if (isOpen) {
        phone.close();
      }
    }
  }

  private interface Flow {
    NextStep run() throws IOException, GeneralSecurityException;
  }

  private synchronized NextStep answered(Flow flow) throws IOException {
    try {
      NextStep next = flow.run();
      if (next.answer != null && ENDED.contains(next.answer.denial)) {
        forget();
      }
      return next;
    } catch (KitException refusal) {
      return NextStep.afterRefusal(refusal);
    } catch (GeneralSecurityException | ProviderException noKeys) {
      return NextStep.afterRefusal(new KitException("keys-unavailable", noKeys));
    } catch (Backend.CallFailed failed) {
      return NextStep.afterFailure(failed.status, failed.reason, failed.retryAfter);
    }
  }

  private Posture posture() {
    return phone.posture(phone.get("locked") != null);
  }

  private Status.Kept kept() {
    String binding = phone.get("binding");
    return binding == null ? null : new Status.Kept(
        binding, phone.get("profile"), phone.get("installation"), List.of(phone.get("made").split(" ")));
  }

  /** Returns the device id: a random UUID that is made once. */
  private String device() {
    if (phone.get("device") == null) {
      phone.put("device", UUID.randomUUID().toString());
    }
    return phone.get("device");
  }

  private static long deadline(Answer answer) {
    return System.nanoTime() + TimeUnit.SECONDS.toNanos(lifetime(answer.expiresAt, System.currentTimeMillis() / 1000));
  }

  /** Returns for how many seconds to rely on what expires then, by a phone whose clock may be off. */
  static long lifetime(long expiresAt, long phoneTime) {
    long seconds = expiresAt - phoneTime;
    return seconds >= 1 && seconds <= MOST_SECONDS ? seconds : USUAL_SECONDS;
  }

  /** Returns the set of keys in use. Two sets take turns. */
  private String set() {
    return phone.get("keys") == null ? "a" : phone.get("keys");
  }

  private String otherSet() {
    return set().equals("a") ? "b" : "a";
  }

  private String alias(String set, String kind) {
    return "touchstone." + application + "." + set + "." + kind;
  }

  private void deleteKeys(String set) {
    for (String kind : KINDS) {
      try {
        keys.delete(alias(set, kind));
      } catch (GeneralSecurityException stays) {
        // A key that cannot be deleted is replaced by the next one of its name.
      }
    }
  }

  private static String factor(String kind) {
    return kind.equals(Keys.BIOMETRY) ? "FACTOR_BIOMETRY" : "FACTOR_DEVICE_OWNER";
  }

  private static String kind(String factor) {
    return "FACTOR_BIOMETRY".equals(factor) ? Keys.BIOMETRY : "FACTOR_DEVICE_OWNER".equals(factor) ? Keys.DEVICE_OWNER : null;
  }
}
