package touchstone.kit;

import static touchstone.kit.Runner.check;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** Tests of the kit with a phone and a backend, of which either may lie. */
final class TouchIDTest {
  private static final Transaction COFFEE = new Transaction("3.20", "EUR", "Coffee Bar", "order-1");
  private static final String FINGER = "FACTOR_BIOMETRY";
  private static final String OWNER = "FACTOR_DEVICE_OWNER";

  private final SimulatedPhone phone = new SimulatedPhone();
  private final ScriptedBackend backend = new ScriptedBackend();
  private final TouchID touchID = new TouchID("shop", backend, phone, phone);

  /** Answers as the service would, but for what a test changes. */
  private static final class ScriptedBackend implements Backend {
    String application = "shop";
    String binding = "b1";
    String profile = "anna";
    Transaction signed;
    /** The policy that it lets the phone sign; null: the one that the app asked for. */
    String policy;
    Answer begun = new Answer();
    final List<Answer> answers = new ArrayList<>();
    final List<Proof> proofs = new ArrayList<>();
    final List<BoundKey> bound = new ArrayList<>();
    final List<Posture> postures = new ArrayList<>();
    IOException failure;
    IOException reportFailure;
    byte[] challenge = "c".repeat(32).getBytes(StandardCharsets.UTF_8);
    Runnable meanwhile = () -> {};
    String bindingId = "b1";
    int evaluations;
    String device;
    String revoked;
    boolean replaced;

    ScriptedBackend() {
      begun.factors = List.of(FINGER, OWNER);
      begun.localizedReason = "Log in";
    }

    @Override
    public Answer beginBinding(String deviceId, Posture posture) {
      device = deviceId;
      Answer ticket = new Answer();
      ticket.challenge = challenge;
      ticket.signingInput = fields("touchstone binding v1", "c".repeat(32), application, profile, deviceId);
      return ticket;
    }

    @Override
    public Answer completeBinding(byte[] handle, List<BoundKey> keys, Posture posture, boolean replaceExisting) throws IOException {
      replaced = replaceExisting;
      if (failure != null) {
        throw failure;
      }
      byte[] input = fields("touchstone binding v1", "c".repeat(32), application, profile, device);
      for (BoundKey key : keys) {
        Signatures.verify(PhoneKey.read(key.publicKey), input, key.signature);
      }
      bound.clear();
      bound.addAll(keys);
      Answer answer = new Answer();
      answer.bindingId = bindingId;
      return answer;
    }

    byte[] input(String policy) {
      byte[] transaction = signed == null ? new byte[0] : fields(
          "touchstone transaction v1", signed.amount, signed.currency, signed.payee, signed.reference);
      byte[] head = fields("touchstone evaluation v1", "c".repeat(32), application, binding, policy, signed == null ? "\1" : "\2");
      byte[] last = Fields.write(transaction);
      byte[] whole = java.util.Arrays.copyOf(head, head.length + last.length);
      System.arraycopy(last, 0, whole, head.length, last.length);
      return whole;
    }

    @Override
    public Answer beginEvaluation(String policy, String bindingId, Posture posture, Transaction transaction) throws IOException {
      evaluations++;
      postures.add(posture);
      meanwhile.run();
      if (failure != null) {
        throw failure;
      }
      begun.signingInput = input(this.policy == null ? policy : this.policy);
      return begun;
    }

    @Override
    public Answer submitAttempt(byte[] handle, Proof proof, Posture posture) throws IOException {
      if (reportFailure != null) {
        throw reportFailure;
      }
      proofs.add(proof);
      postures.add(posture);
      if (!answers.isEmpty()) {
        return answers.remove(0);
      }
      Answer answer = new Answer();
      answer.outcome = "OUTCOME_SUCCEEDED";
      answer.token = "token";
      return answer;
    }

    @Override
    public void revokeBinding(String bindingId) throws IOException {
      if (failure != null) {
        throw failure;
      }
      revoked = bindingId;
    }

    private static byte[] fields(String... texts) {
      byte[][] fields = new byte[texts.length][];
      for (int i = 0; i < texts.length; i++) {
        fields[i] = texts[i].getBytes(StandardCharsets.UTF_8);
      }
      return Fields.write(fields);
    }
  }

  private static Answer answer(String outcome, int laError, String... nextFactors) {
    Answer answer = new Answer();
    answer.outcome = "OUTCOME_" + outcome;
    answer.laError = laError;
    answer.nextFactors = List.of(nextFactors);
    return answer;
  }

  private void enable() throws IOException {
    check("done", touchID.enable("anna", "Set up").step, "enable");
    phone.shown.clear();
  }

  void testAPhoneBindsTwoKeysAndLogsIn() throws IOException {
    check("not-enabled", touchID.status("anna").status, "before");
    enable();
    check(2, backend.bound.size(), "keys");
    check("KEY_PROTECTION_DEVICE_PASSCODE", backend.bound.get(1).protection, "protection");
    check("ready", touchID.status("anna").status, "status");
    check("other-profile", touchID.status("bob").status, "another person's status");
    NextStep next = touchID.login();
    check("done token", next.step + " " + next.answer.token, "login");
    Signatures.verify(PhoneKey.read(backend.bound.get(0).publicKey), backend.input("login"), backend.proofs.get(0).signature);
    check("Log in", phone.shown.get(0).title, "title");
    check("Cancel", phone.shown.get(0).button, "button");
  }

  void testAPaymentIsShownAsItIsSigned() throws IOException {
    enable();
    backend.signed = COFFEE;
    check("done", touchID.pay(COFFEE).step, "pay");
    Phone.Request request = phone.shown.get(0);
    check("3.20 EUR, Coffee Bar; order-1; true", request.title + "; " + request.subtitle + "; " + request.isConfirmationRequired, "prompt");
  }

  void testALyingBackendGetsNoSignature() throws IOException {
    enable();
    String[][] lies = {{"bank", "b1", "other-application"}, {"shop", "b2", "other-binding"}};
    for (String[] lie : lies) {
      backend.application = lie[0];
      backend.binding = lie[1];
      check(lie[2], touchID.login().refusal.getCode(), lie[2]);
    }
    backend.application = "shop";
    backend.binding = "b1";
    check("not-a-payment", touchID.pay(COFFEE).refusal.getCode(), "a login in place of a payment");
    backend.signed = new Transaction("32.00", "EUR", "Coffee Bar", "order-1");
    check("other-transaction", touchID.pay(COFFEE).refusal.getCode(), "another amount");
    check("transaction-not-shown", touchID.login().refusal.getCode(), "a payment in place of a login");
    backend.signed = null;
    backend.policy = "login-without-finger";
    check("other-policy", touchID.login().refusal.getCode(), "another policy");
    check(0, backend.proofs.size(), "signatures");
    check(0, phone.shown.size(), "prompts");
  }

  void testAnAppNamesItsPolicies() throws IOException {
    enable();
    check("done", touchID.evaluate("at-night", null).step, "login");
    backend.signed = COFFEE;
    check("done", touchID.evaluate("large-payment", COFFEE).step, "pay");
    backend.policy = "payment";
    check("other-policy", touchID.evaluate("large-payment", COFFEE).refusal.getCode(), "a smaller payment's policy");
  }

  void testALoginsPromptShowsTheServicesTextsIfAllOfThemCanBeSeen() throws IOException {
    enable();
    for (String text : Arrays.asList("", "Log\u202e in", "Log\nin", "x".repeat(513), "Log in \ud83d", null)) {
      backend.begun.localizedReason = text;
      backend.begun.fallbackTitle = text;
      backend.begun.cancelTitle = text;
      check("done", touchID.login().step, "login");
      Phone.Request request = phone.shown.get(phone.shown.size() - 1);
      check("shop Cancel", request.title + " " + request.button, text);
    }
  }

  /** A JSON library leaves null for null. */
  void testANullOfTheBackendIsAFieldThatIsAbsent() throws IOException, IllegalAccessException {
    enable();
    Answer answer = answerOfNulls();
    answer.outcome = "OUTCOME_FALLBACK";
    answer.nextFactors = Arrays.asList(null, "FACTOR_PASSCODE");
    backend.answers.add(answer);
    backend.begun = answerOfNulls();
    backend.begun.factors = Arrays.asList(null, FINGER);
    NextStep next = touchID.login();
    check("use-factor FACTOR_PASSCODE null", next.step + " " + next.factor + " " + next.message, "login");
    backend.answers.add(answerOfNulls());
    check("log-in", touchID.login().step, "an answer without an outcome");
    backend.begun.factors = null;
    check("log-in", touchID.login().step, "no factors");
    backend.bindingId = null;
    check("no-binding", touchID.enable("anna", "Set up").refusal.getCode(), "enable");
  }

  private static Answer answerOfNulls() throws IllegalAccessException {
    Answer answer = new Answer();
    for (Field field : Answer.class.getFields()) {
      if (!field.getType().isPrimitive()) {
        field.set(answer, null);
      }
    }
    return answer;
  }

  void testATicketOfAnotherPersonBindsNothing() throws IOException {
    backend.profile = "mallory";
    NextStep next = touchID.enable("anna", "Set up");
    check("stop other-profile", next.step + " " + next.refusal.getCode(), "enable");
    check("not-enabled []", touchID.status("anna").status + " " + touchID.status("anna").forget, "status");
  }

  void testAFailedBindingLeavesThePresentOne() throws IOException {
    enable();
    backend.failure = new Backend.CallFailed("UNAVAILABLE", "", 2.5);
    NextStep next = touchID.enable("anna", "Set up");
    check("wait 3", next.step + " " + next.seconds, "enable");
    backend.failure = new IOException("no network");
    try {
      touchID.enable("anna", "Set up");
      throw new AssertionError("no IOException");
    } catch (IOException expected) {
      check("no network", expected.getMessage(), "error");
    }
    backend.failure = null;
    phone.person.add("10");
    check("stay", touchID.enable("anna", "Set up").step, "canceled");
    check("ready", touchID.status("anna").status, "status");
    check("done", touchID.login().step, "login by the present keys");
  }

  void testWrongFingersAreReportedWhileThePromptStays() throws IOException {
    enable();
    phone.person.addAll(List.of("wrong", "wrong", "touch"));
    backend.answers.add(answer("TRY_AGAIN", -1, FINGER));
    backend.answers.add(answer("TRY_AGAIN", -1, FINGER));
    check("done", touchID.login().step, "login");
    check(-1, backend.proofs.get(0).laError, "report");
    check(3, backend.proofs.size(), "attempts");
    check(1, phone.shown.size(), "prompts");
    check(0, phone.closed, "closed");
  }

  void testALockoutGoesOnWithThePhonesPasscode() throws IOException {
    enable();
    phone.person.addAll(List.of("7", "touch"));
    backend.answers.add(answer("LOCKED_OUT", -8, OWNER));
    check("done", touchID.login().step, "login");
    check(-8, backend.proofs.get(0).laError, "report");
    check(true, backend.postures.get(1).biometryLockedOut, "locked out after the lockout");
    check(OWNER, backend.proofs.get(1).factor, "factor");
    check(null, phone.shown.get(1).button, "no negative button beside the phone's passcode");
    touchID.login();
    check(false, backend.postures.get(3).biometryLockedOut, "locked out after a success");
  }

  void testAWrongFingerThatEndsThePromptClosesIt() throws IOException {
    enable();
    phone.person.addAll(List.of("wrong", "nothing"));
    backend.answers.add(answer("FAILED", -1));
    check("begin-again", touchID.login().step, "login");
    check(1, phone.closed, "closed");
  }

  void testTheFallbackButtonLeadsToAPasscodeOfTheService() throws IOException {
    enable();
    backend.begun.fallbackTitle = "Use passcode";
    phone.person.add("13");
    backend.answers.add(answer("FALLBACK", -3, "FACTOR_PASSCODE"));
    NextStep next = touchID.login();
    check("use-factor FACTOR_PASSCODE", next.step + " " + next.factor, "login");
    check("Use passcode", phone.shown.get(0).button, "button");
    check(-3, backend.proofs.get(0).laError, "report");
    backend.answers.add(answer("TRY_AGAIN", -1, "FACTOR_PASSCODE"));
    check("try-again", touchID.passcode("0000").step, "wrong passcode");
    check("done", touchID.passcode("2718").step, "passcode");
    check("2718", backend.proofs.get(2).passcode, "sent");
  }

  void testACancelIsReportedAndStays() throws IOException {
    enable();
    phone.person.add("10");
    backend.answers.add(answer("CANCELED", -2, FINGER));
    check("stay", touchID.login().step, "login");
    check(-2, backend.proofs.get(0).laError, "report");
    check(1, phone.shown.size(), "prompts");
  }

  void testANewFingerIsNoticedAndThePhonesPasscodeServes() throws IOException {
    enable();
    phone.enrollFinger();
    check("bind-again", touchID.status("anna").status, "status");
    NextStep next = touchID.login();
    check("done [bind-again]", next.step + " " + next.notices, "login");
    check(List.of(OWNER), List.of(backend.proofs.get(0).factor), "factor");
    check("done", touchID.enable("anna", "Set up").step, "bound again");
    check("ready", touchID.status("anna").status, "status after");
    check("done []", touchID.login().step + " " + touchID.login().notices, "login after");
  }

  void testKeysThatDieBetweenBeginAndSignAreNoticed() throws IOException {
    enable();
    backend.begun.factors = List.of(FINGER, "FACTOR_PASSCODE");
    phone.enrollFinger();
    NextStep next = touchID.login();
    check("bind-again FACTOR_PASSCODE", next.step + " " + next.factor, "login");
    check(0, backend.proofs.size(), "attempts");
    next = touchID.passcode("2718");
    check("done [bind-again]", next.step + " " + next.notices, "passcode");
    touchID.evaluate("login", null);
    next = touchID.passcode("2718");
    check("done [bind-again]", next.step + " " + next.notices, "passcode of the next login");
  }

  void testAPromptThatEndsWhileAPhoneIsBoundSaysWhatToDo() throws IOException {
    Map<String, String> steps = Map.of(
        "1", "open-settings", "5", "stay", "7", "log-in", "10", "stay", "11", "open-settings", "14", "open-settings");
    for (Map.Entry<String, String> end : steps.entrySet()) {
      phone.person.add(end.getKey());
      check(end.getValue(), touchID.enable("anna", "Set up").step, "error " + end.getKey());
      check("not-enabled []", touchID.status("anna").status + " " + touchID.status("anna").forget, "status");
    }
    check(0, backend.proofs.size(), "reports");
  }

  void testBothKeysGone() throws IOException {
    enable();
    for (String kind : phone.kinds()) {
      phone.delete("touchstone.shop.b." + kind);
    }
    check("bind-again null", touchID.login().step + " " + touchID.login().factor, "login");
    check("bind-again", touchID.status(null).status, "status");
  }

  void testAnotherInstallationForgetsAll() throws IOException {
    enable();
    phone.installation = "second";
    Status status = touchID.status("anna");
    check("reinstalled [binding, keys]", status.status + " " + status.forget, "status");
    touchID.forget();
    check("not-enabled []", touchID.status("anna").status + " " + touchID.status("anna").forget, "after");
    String device = phone.kept.get("device");
    enable();
    check(device, backend.device, "the device id stays");
  }

  void testAnotherPersonsBindingIsReplacedIfThatIsWanted() throws IOException {
    backend.failure = new Backend.CallFailed("FAILED_PRECONDITION", "DEVICE_BOUND_TO_ANOTHER_PROFILE", 0);
    check("replace-binding", touchID.enable("anna", "Set up").step, "enable");
    check(false, backend.replaced, "replaced");
    backend.failure = null;
    check("done", touchID.enable("anna", "Set up", true).step, "enable again");
    check(true, backend.replaced, "replaced");
  }

  void testAPromptEndsWithItsEvaluation() throws IOException {
    enable();
    backend.begun.expiresAt = System.currentTimeMillis() / 1000 + 2;
    phone.person.add("nothing");
    check("stay", touchID.login().step, "login");
    check(1, phone.closed, "closed");
    check(0, backend.proofs.size(), "attempts");
  }

  void testDisableRevokesAndForgets() throws IOException {
    enable();
    backend.failure = new IOException("no network");
    try {
      touchID.disable();
      throw new AssertionError("no IOException");
    } catch (IOException expected) {
      check("ready", touchID.status("anna").status, "status after a call that failed");
    }
    backend.failure = new Backend.CallFailed("NOT_FOUND", "", 0);
    touchID.disable();
    check("not-enabled", touchID.status("anna").status, "status of a binding that the service does not know any more");
    backend.failure = null;
    enable();
    touchID.disable();
    check("b1", backend.revoked, "revoked");
    check("not-enabled []", touchID.status("anna").status + " " + touchID.status("anna").forget, "status");
  }

  void testWithoutABindingNothingIsCalled() throws IOException {
    NextStep next = touchID.login();
    check("bind-again null", next.step + " " + next.refusal, "login");
    check("begin-again", touchID.passcode("2718").step, "a passcode without an evaluation");
    check("begin-again", touchID.gesture(List.of(0, 1, 2, 5)).step, "a gesture without an evaluation");
    check("0 []", backend.evaluations + " " + backend.proofs, "calls");
  }

  void testALoginOnAnotherInstallationForgets() throws IOException {
    enable();
    phone.installation = "second";
    check("bind-again", touchID.login().step, "login");
    check(0, backend.evaluations, "calls");
    check("not-enabled []", touchID.status("anna").status + " " + touchID.status("anna").forget, "status");
  }

  void testABindingThatTheServiceEndedIsForgotten() throws IOException {
    for (String reason : List.of("BINDING_REVOKED", "BINDING_UNKNOWN")) {
      enable();
      backend.begun.denial = reason;
      check("bind-again", touchID.login().step, "login");
      check("not-enabled []", touchID.status("anna").status + " " + touchID.status("anna").forget, reason + " at Begin");
      backend.begun.denial = "";
      enable();
      Answer answer = answer("FAILED", -6);
      answer.denial = reason;
      backend.answers.add(answer);
      check("bind-again", touchID.login().step, "login");
      check("not-enabled []", touchID.status("anna").status + " " + touchID.status("anna").forget, reason + " at Submit");
      check("begin-again", touchID.passcode("2718").step, "the evaluation ended, too");
    }
    enable();
    backend.begun.denial = "LEVEL_TOO_LOW";
    check("bind-again", touchID.login().step, "login");
    check("ready", touchID.status("anna").status, "another denial keeps it");
  }

  void testABindingWithoutAnIdIsNone() throws IOException {
    backend.bindingId = "";
    NextStep next = touchID.enable("anna", "Set up");
    check("stop no-binding", next.step + " " + next.refusal.getCode(), "enable");
    check("not-enabled []", touchID.status("anna").status + " " + touchID.status("anna").forget, "status");
    check("[device]", phone.kept.keySet().toString(), "kept");
    backend.bindingId = "b1";
    enable();
    backend.bindingId = "";
    check("stop", touchID.enable("anna", "Set up").step, "enable again");
    check("done", touchID.login().step, "login by the present binding");
  }

  void testATicketOfAnotherChallengeBindsNothing() throws IOException {
    backend.challenge = "d".repeat(32).getBytes(StandardCharsets.UTF_8);
    NextStep next = touchID.enable("anna", "Set up");
    check("stop other-challenge", next.step + " " + next.refusal.getCode(), "enable");
    check(0, phone.shown.size(), "prompts");
    backend.challenge = null;
    check("done", touchID.enable("anna", "Set up").step, "a backend that keeps the challenge to itself");
  }

  void testALockoutEndsWithAnySuccess() throws IOException {
    phone.hasBiometricKeyAlone = true;
    enable();
    phone.person.add("7");
    backend.answers.add(answer("LOCKED_OUT", -8, "FACTOR_PASSCODE"));
    check("use-factor", touchID.login().step, "login");
    backend.answers.add(answer("TRY_AGAIN", -1, "FACTOR_PASSCODE"));
    touchID.passcode("0000");
    check("done", touchID.passcode("2718").step, "passcode");
    touchID.login();
    List<Boolean> locked = new ArrayList<>();
    backend.postures.forEach(posture -> locked.add(posture.biometryLockedOut));
    // Begin, report, wrong passcode, passcode; then Begin and the finger of the next login.
    check(List.of(false, true, true, true, false, false), locked, "locked out");
  }

  void testACallWaitsForTheOneBefore() throws Exception {
    enable();
    List<Callable<?>> calls = List.of(
        () -> touchID.status("anna"), touchID::login, () -> touchID.passcode("2718"), () -> touchID.enable("anna", "Set up"),
        Executors.callable(touchID::forget), () -> {
          touchID.disable();
          return null;
        });
    for (Callable<?> call : calls) {
      FutureTask<?> task = new FutureTask<>(call);
      Thread second = new Thread(task);
      Thread.State[] state = new Thread.State[1];
      backend.meanwhile = () -> {
        backend.meanwhile = () -> {};
        second.start();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        do {
          state[0] = second.getState();
        } while (state[0] != Thread.State.BLOCKED && state[0] != Thread.State.TERMINATED && System.nanoTime() < end);
        check(null, backend.revoked, "revoked meanwhile");
      };
      check("done", touchID.login().step, "the first call");
      check(Thread.State.BLOCKED, state[0], "the second call " + calls.indexOf(call));
      task.get(10, TimeUnit.SECONDS);
      enable();
    }
  }

  void testAWrongPasscodeOfThePhoneIsNoWrongFinger() throws IOException {
    enable();
    backend.begun.factors = List.of(OWNER);
    phone.person.addAll(List.of("wrong", "touch"));
    check("done", touchID.login().step, "login");
    check(1, backend.proofs.size(), "attempts");
    check(null, backend.proofs.get(0).laError, "report");
  }

  void testABackendThatLiesAboutFailuresPromptsAFewTimesOnly() throws IOException {
    enable();
    for (int i = 0; i < 100; i++) {
      backend.answers.add(answer("TRY_AGAIN", -1, FINGER));
    }
    check("try-again", touchID.login().step, "login");
    check(8, phone.shown.size(), "prompts");
    phone.person.add("10");
    touchID.login();
    check(9, phone.shown.size(), "prompts after a cancel");
  }

  void testAReportThatFailsTakesThePromptAway() throws IOException {
    enable();
    phone.person.addAll(List.of("wrong", "nothing"));
    backend.reportFailure = new IOException("no network");
    try {
      touchID.login();
      throw new AssertionError("no IOException");
    } catch (IOException expected) {
      check(1, phone.closed, "closed");
    }
  }

  void testADenialsMessageIsShown() throws IOException {
    enable();
    backend.begun.denial = "PASSCODE_NOT_SET";
    backend.begun.messageText = "Set a passcode first.";
    backend.begun.messageLocale = "en";
    touchID.languages = "en";
    check("open-settings Set a passcode first.", touchID.login().step + " " + touchID.login().message, "login");
    touchID.languages = "zh-Hans";
    check(null, touchID.login().message, "a text in another language");
  }

  void testNoWaitIsLongerThanADay() {
    check(86_400, NextStep.afterFailure("UNAVAILABLE", "", 1e12).seconds, "seconds");
    check(86_400, NextStep.afterFailure("UNAVAILABLE", "", 86_400).seconds, "seconds");
    check(1, NextStep.afterFailure("UNAVAILABLE", "", Double.NaN).seconds, "seconds of no number");
  }

  void testAnInterruptedThreadTakesThePromptAway() throws IOException {
    enable();
    phone.person.add("nothing");
    Thread.currentThread().interrupt();
    check("stay", touchID.login().step, "login");
    check(true, Thread.interrupted(), "still interrupted");
    check(1, phone.closed, "closed");
  }
}
