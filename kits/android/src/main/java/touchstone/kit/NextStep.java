package touchstone.kit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The app's next step after an answer. Words that the kit does not know lead to the app's own login. */
public final class NextStep {
  private static final String LOG_IN = "log-in";
  private static final List<String> FACTORS =
      List.of("FACTOR_BIOMETRY", "FACTOR_DEVICE_OWNER", "FACTOR_PASSCODE", "FACTOR_GESTURE", "FACTOR_PASSKEY");
  private static final List<String> SECRETS = List.of("FACTOR_PASSCODE", "FACTOR_GESTURE");
  private static final List<String> ADVISORIES = List.of("SLOW_PROMPT", "DEVICE_REPLACED", "NO_RECOVERY_FACTOR");
  private static final int MOST_MESSAGE_BYTES = 1024;
  /** A day: a person who waits longer begins anew. */
  private static final int MOST_SECONDS = 86_400;
  /** Each line: a step, and the reasons, the statuses and the ends of a prompt that lead to it. */
  private static final Map<String, String> STEPS = steps(
      "update-system OS_TOO_OLD DOMAIN_STATE_REQUIRED",
      "open-settings PASSCODE_NOT_SET BIOMETRY_NOT_AVAILABLE BIOMETRY_NOT_ENROLLED no-passcode unavailable not-enrolled",
      "bind-again PLATFORM_DIFFERS BINDING_UNKNOWN BINDING_REVOKED NO_USABLE_FACTOR LEVEL_TOO_LOW APP_NOT_PROVEN NOT_FOUND",
      "set-secret PASSCODE_DISABLED GESTURE_DISABLED",
      "try-again WRONG_SECRET",
      "wait PASSCODE_LOCKED GESTURE_LOCKED UNAVAILABLE RESOURCE_EXHAUSTED ABORTED",
      "begin-again TICKET_INVALID DEADLINE_EXCEEDED CANCELLED failure",
      "stay cancel",
      "replace-binding DEVICE_BOUND_TO_ANOTHER_PROFILE",
      "revoke-a-binding TOO_MANY_BINDINGS",
      "assert-again APP_ASSERTION_NOT_ACCEPTED",
      "fix-app APP_ASSERTION_REQUIRED ATTESTATION_REQUIRED ATTESTATION_CONTRADICTS_PROTECTION PASSKEYS_NOT_SERVED"
          + " INVALID_ARGUMENT UNAUTHENTICATED PERMISSION_DENIED UNIMPLEMENTED");

  /**
   * One of done, prompt, try-again, use-factor, begin-again, bind-again, log-in, set-secret, wait, stay, open-settings,
   * update-system, replace-binding, revoke-a-binding, assert-again, fix-app, stop.
   */
  public final String step;
  /** The factor to prompt for or to go on with; null for none. */
  public String factor;
  /** The seconds to wait, at most a day; 0 if there is nothing to wait for. */
  public int seconds;
  /**
   * The notices for the person: slow-prompt, device-replaced, no-recovery-factor; and bind-again, after a login although
   * a key is dead.
   */
  public List<String> notices = List.of();
  /** The service's text for the person, if it can be shown; otherwise null. */
  public String message;
  /** The answer that led here; null if there was none. */
  public Answer answer;
  /** The kit's refusal, for the step stop; otherwise null. */
  public KitException refusal;

  NextStep(String step, String factor) {
    this.step = step;
    this.factor = factor;
  }

  /**
   * Decides after BeginEvaluation and CanEvaluatePolicy, and after a denial of BeginBinding. {@code languages}: the
   * call's, as in Accept-Language.
   */
  public static NextStep afterBegin(Answer answer, String languages) {
    NextStep next = answer.denial.isEmpty()
        ? first(answer.factors, "prompt", answer.factors.isEmpty() ? unlessChanged(answer, LOG_IN) : LOG_IN)
        : because(answer.denial, answer.retryAfter);
    return next.with(answer, languages);
  }

  /**
   * Decides after SubmitAttempt. {@code languages}: see {@link #afterBegin}.
   *
   * @param isKeyGone whether a key of the binding is dead.
   * @param factor the attempt's.
   */
  public static NextStep afterSubmit(Answer answer, boolean isKeyGone, String factor, String languages) {
    boolean isDenied = answer.outcome.equals("OUTCOME_FAILED") && !answer.denial.isEmpty();
    NextStep next = isDenied ? because(answer.denial, answer.retryAfter) : afterOutcome(answer, factor);
    next.with(answer, languages);
    if (isKeyGone && next.step.equals("done")) {
      next.notices.add("bind-again");
    }
    return next;
  }

  private static NextStep afterOutcome(Answer answer, String factor) {
    int error = answer.laError;
    switch (answer.outcome.startsWith("OUTCOME_") ? answer.outcome.substring(8) : "") {
      case "SUCCEEDED": return new NextStep("done", null);
      case "TRY_AGAIN": return new NextStep("try-again", factor);
      case "CANCELED": return new NextStep("stay", null);
      case "INVALID_CONTEXT": return new NextStep("begin-again", null);
      case "FALLBACK": return first(answer.nextFactors, "use-factor", LOG_IN);
      case "FACTOR_REQUIRED":
        boolean hasLogin = answer.nextFactors.contains("FACTOR_PRIMARY");
        return first(answer.nextFactors, "use-factor", hasLogin ? LOG_IN : unlessChanged(answer, "begin-again"));
      case "LOCKED_OUT":
        NextStep locked = first(
            answer.nextFactors, "use-factor", answer.retryAfter > 0 ? "wait" : SECRETS.contains(factor) ? "set-secret" : LOG_IN);
        locked.seconds = locked.step.equals("wait") ? seconds(answer.retryAfter) : 0;
        return locked;
      case "FAILED":
        boolean needsSettings = error == -5 || error == -7 || error == -6 && answer.nextFactors.isEmpty();
        return first(answer.nextFactors, needsSettings ? "open-settings" : "use-factor",
            needsSettings ? "open-settings" : error == -1 ? "begin-again" : LOG_IN);
      default: return new NextStep(LOG_IN, null);
    }
  }

  /** Decides after CompleteBinding. */
  public static NextStep afterBinding(Answer answer) {
    return new NextStep("done", null).with(answer, "");
  }

  /**
   * Decides after a prompt if nothing is sent about it ({@link PlatformError#means}), as while a phone is bound.
   *
   * @param again whether the prompt was shown a second time for the same reason.
   * @param others the other factors that the evaluation takes.
   */
  public static NextStep afterPrompt(String means, boolean again, String factor, List<String> others) {
    if (means.equals("retry") && !again) {
      return new NextStep("try-again", factor);
    }
    boolean isDead = means.equals("key-gone") || means.equals("retry");
    return isDead ? first(others, "bind-again", "bind-again") : because(means, 0);
  }

  /** Decides after a call that gRPC refused: its status, and the reason of its ErrorInfo or an empty text. */
  public static NextStep afterFailure(String status, String reason, double retryAfter) {
    return because(status.equals("FAILED_PRECONDITION") ? reason : status, retryAfter);
  }

  /** Returns the step after a refusal: the app says that something is wrong, and sends nothing. */
  public static NextStep afterRefusal(KitException refusal) {
    NextStep next = new NextStep("stop", null);
    next.refusal = refusal;
    return next;
  }

  private static NextStep because(String reason, double retryAfter) {
    NextStep next = new NextStep(STEPS.getOrDefault(reason, LOG_IN), null);
    next.seconds = next.step.equals("wait") ? seconds(retryAfter) : 0;
    return next;
  }

  /** Returns the step with the first factor that the kit knows, or else the other step. */
  private static NextStep first(List<String> factors, String step, String otherwise) {
    for (String factor : factors) {
      if (FACTORS.contains(factor)) {
        return new NextStep(step, factor);
      }
    }
    return new NextStep(otherwise, null);
  }

  private static String unlessChanged(Answer answer, String step) {
    return answer.domainState.startsWith("DOMAIN_STATE_VERDICT_CHANGED") ? "bind-again" : step;
  }

  private static int seconds(double time) {
    return Math.max(1, (int) Math.min(MOST_SECONDS, Math.ceil(time)));
  }

  private NextStep with(Answer answer, String languages) {
    this.answer = answer;
    boolean isTheirs = answer.messageLocale.equals(Languages.served(languages));
    message = isTheirs ? Texts.legible(answer.messageText, MOST_MESSAGE_BYTES, null) : null;
    notices = new ArrayList<>(answer.advisories);
    notices.retainAll(ADVISORIES);
    notices.replaceAll(advisory -> advisory.toLowerCase(Locale.ROOT).replace('_', '-'));
    return this;
  }

  private static Map<String, String> steps(String... lines) {
    Map<String, String> steps = new HashMap<>();
    for (String line : lines) {
      String[] words = line.split(" ");
      for (int i = 1; i < words.length; i++) {
        steps.put(words[i], words[0]);
      }
    }
    return steps;
  }
}
