package touchstone.kit;

import static touchstone.kit.Runner.check;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Decides every case of Tests/Vectors/kit. The property "vectors" names the folder. */
final class VectorsTest {
  private static final Base64.Encoder BASE64 = Base64.getUrlEncoder().withoutPadding();

  void testSigningInputs() throws IOException {
    decide("signing_inputs", 60, VectorsTest::signingInput);
  }

  void testKeys() throws IOException {
    decide("keys", 30, given -> {
      PhoneKey key = PhoneKey.read(bytes(given, "key"));
      Map<String, Object> found = new LinkedHashMap<>();
      found.put("algorithm", key.algorithm);
      found.put("form", key.form);
      if (key.algorithm.equals("RSA")) {
        found.put("bits", (double) key.bits);
        found.put("spki", BASE64.encodeToString(key.spki));
      } else if (!key.form.endsWith("compressed")) {
        found.put("x963", BASE64.encodeToString(key.x963()));
      }
      return found;
    });
  }

  void testSignatures() throws IOException {
    decide("signatures", 30, given -> {
      PhoneKey key = PhoneKey.read(bytes(given, "key"));
      check(given.get("algorithm"), key.algorithm, "algorithm");
      byte[] message = Signatures.message(bytes(given, "signing_input"), given.get("form").equals("BASE64URL_TEXT"));
      byte[] signature = bytes(given, "signature");
      Signatures.verify(key, message, signature);
      Map<String, Object> found = new LinkedHashMap<>();
      found.put("valid", true);
      if (key.algorithm.equals("P256")) {
        found.put("raw", BASE64.encodeToString(Signatures.raw(signature)));
      }
      return found;
    });
  }

  void testPostures() throws IOException {
    decide("postures", 40, VectorsTest::posture);
  }

  void testErrors() throws IOException {
    decide("errors", 50, given -> {
      PlatformError error = error(given);
      Map<String, Object> found = new LinkedHashMap<>();
      found.put("send", error.send == null ? null : (Object) error.send.doubleValue());
      found.put("means", error.means);
      return found;
    });
  }

  void testNextSteps() throws IOException {
    decide("next_steps", 100, given -> {
      NextStep next = nextStep(given);
      Map<String, Object> found = new LinkedHashMap<>();
      found.put("step", next.step);
      if (next.factor != null) {
        found.put("factor", next.factor);
      }
      if (next.seconds > 0) {
        found.put("seconds", (double) next.seconds);
      }
      if (!next.notices.isEmpty()) {
        found.put("notices", next.notices);
      }
      if (next.message != null) {
        found.put("message", next.message);
      }
      return found;
    });
  }

  void testLifetimes() throws IOException {
    decide("lifetimes", 8, given ->
        Map.of("seconds", (double) TouchID.lifetime(number(given, "expires_at"), number(given, "phone_time"))));
  }

  void testLanguages() throws IOException {
    decide("languages", 50, given -> Map.of("language", Languages.served(text(given, "languages"))));
  }

  void testTexts() throws IOException {
    decide("texts", 50, given ->
        Map.of("shown", Texts.legible(text(given, "text"), (int) number(given, "maximum_bytes"), null) != null));
  }

  void testStates() throws IOException {
    decide("states", 15, given -> {
      Map<String, Object> kept = map(given.get("kept"));
      Status status = Status.of(
          kept == null ? null : new Status.Kept(
              text(kept, "binding_id"), text(kept, "profile_id"), text(kept, "installation"), texts(kept.get("made"))),
          (String) given.get("installation"), texts(given.get("found")), (String) given.get("profile_id"));
      return Map.of("status", status.status, "forget", status.forget);
    });
  }

  private static Map<String, Object> signingInput(Map<String, Object> given) {
    byte[] bytes = bytes(given, "signing_input");
    byte[] challenge = given.get("challenge") == null ? null : bytes(given, "challenge");
    Map<String, Object> found = new LinkedHashMap<>();
    if (given.get("kind").equals("binding")) {
      SigningInput input = SigningInput.ofBinding(
          bytes, text(given, "application_id"), text(given, "profile_id"), text(given, "device_id"), challenge);
      found.put("challenge", BASE64.encodeToString(input.challenge));
      found.put("application_id", input.application);
      found.put("profile_id", given.get("profile_id"));
      found.put("device_id", given.get("device_id"));
      return found;
    }
    Map<String, Object> shown = map(given.get("shown"));
    SigningInput input = SigningInput.ofEvaluation(
        bytes, text(given, "application_id"), text(given, "binding_id"), text(given, "policy"), challenge, shown == null ? null : new Transaction(
            text(shown, "amount"), text(shown, "currency"), text(shown, "payee"), text(shown, "reference")));
    found.put("challenge", BASE64.encodeToString(input.challenge));
    found.put("application_id", input.application);
    found.put("binding_id", given.get("binding_id"));
    found.put("policy", input.policy);
    found.put("purpose", input.transaction == null ? "login" : "payment");
    if (input.transaction != null) {
      Transaction paid = input.transaction;
      found.put("transaction", Map.of(
          "amount", paid.amount, "currency", paid.currency, "payee", paid.payee, "reference", paid.reference));
      found.put("transaction_sha256", paid.digest());
    }
    return found;
  }

  private static Map<String, Object> posture(Map<String, Object> given) {
    String platform = text(given, "platform");
    String version = text(given, "system_version");
    String model = given.getOrDefault("model", "").toString();
    Posture posture;
    if (platform.equals("android")) {
      posture = Posture.ofAndroid(
          version, model, (int) number(given, "can_authenticate"), is(given, "device_secure"), is(given, "locked_out"));
    } else if (platform.equals("web")) {
      posture = Posture.ofWeb(version, is(given, "user_verifying"));
    } else {
      byte[] state = given.get("domain_state") == null ? new byte[0] : bytes(given, "domain_state");
      posture = Posture.ofApple(platform, version, model, (int) number(given, "biometry_type"),
          (int) number(given, "biometrics_error"), (int) number(given, "device_owner_error"), state);
    }
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("platform", posture.platform);
    found.put("os_version", posture.osVersion);
    found.put("device_model", posture.deviceModel);
    found.put("biometry_type", posture.biometryType);
    found.put("biometry_available", posture.biometryAvailable);
    found.put("biometry_enrolled", posture.biometryEnrolled);
    found.put("biometry_locked_out", posture.biometryLockedOut);
    found.put("passcode_set", posture.passcodeSet);
    found.put("domain_state", BASE64.encodeToString(posture.domainState));
    return found;
  }

  private static PlatformError error(Map<String, Object> given) {
    int code = (int) number(given, "code");
    boolean closed = is(given, "closed_by_app");
    switch (text(given, "platform")) {
      case "ios-la-error": return PlatformError.ofLAError(code, closed);
      case "ios-os-status": return PlatformError.of("OSStatus", code);
      case "ios-token": return PlatformError.of("TKError", code);
      case "android-prompt": return PlatformError.ofPrompt(code, is(given, "fallback_button"), closed);
      case "android-exception": return PlatformError.of("exception", given.get("exception"));
      default:
        // The kit's Events tell a success from a failure; both have the meaning of these LAErrors.
        return PlatformError.ofLAError(given.get("callback").equals("onAuthenticationFailed") ? -1 : 0, false);
    }
  }

  private static NextStep nextStep(Map<String, Object> given) {
    Map<String, Object> from = map(given.get("answer"));
    Map<String, Object> denial = map(from.get("denial"));
    Map<String, Object> message = map(from.getOrDefault("message", denial == null ? null : denial.get("message")));
    Answer answer = new Answer();
    answer.factors = texts(from.get("factors"));
    answer.nextFactors = texts(from.get("next_factors"));
    answer.advisories = texts(from.get("advisories"));
    answer.domainState = from.getOrDefault("domain_state", "").toString();
    answer.outcome = from.getOrDefault("outcome", "").toString();
    answer.laError = (int) number(from, "la_error");
    answer.denial = denial == null ? "" : text(denial, "reason");
    Map<String, Object> waiting = denial == null ? from : denial;
    answer.retryAfter = waiting.get("retry_after") == null ? 0 : (double) waiting.get("retry_after");
    answer.messageLocale = message == null ? "" : text(message, "locale");
    answer.messageText = message == null ? "" : text(message, "text");
    String languages = given.getOrDefault("languages", "en").toString();
    switch (text(given, "at")) {
      case "begin": return NextStep.afterBegin(answer, languages);
      case "submit": return NextStep.afterSubmit(answer, is(from, "key_gone"), text(from, "factor"), languages);
      case "bind": return NextStep.afterBinding(answer);
      case "prompt": return NextStep.afterPrompt(text(from, "means"), is(from, "again"), text(from, "factor"), answer.nextFactors);
      case "failed": return NextStep.afterFailure(text(from, "status"), text(from, "reason"), answer.retryAfter);
      default: return NextStep.afterRefusal(new KitException(text(from, "code"), null));
    }
  }

  private static void decide(String group, int least, Function<Map<String, Object>, Map<String, Object>> decision) throws IOException {
    Path file = Path.of(System.getProperty("vectors"), group + ".json");
    List<String> wrong = new ArrayList<>();
    int count = 0;
    for (Object one : (List<?>) map(Json.read(Files.readString(file))).get("cases")) {
      Map<String, Object> given = map(one);
      Object expected = given.containsKey("refused") ? given.get("refused") : given.get("expect");
      Object found;
      try {
        found = decision.apply(given);
      } catch (KitException refusal) {
        found = refusal.getCode();
      }
      if (!expected.equals(found)) {
        wrong.add(given.get("name") + ": expected " + expected + ", got " + found);
      }
      count++;
    }
    check(List.of(), wrong, group);
    check(true, count >= least, group + " has " + count + " cases");
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object value) {
    return (Map<String, Object>) value;
  }

  private static List<String> texts(Object list) {
    List<String> texts = new ArrayList<>();
    for (Object one : list == null ? List.of() : (List<?>) list) {
      texts.add((String) one);
    }
    return texts;
  }

  private static String text(Map<String, Object> given, String name) {
    return (String) given.get(name);
  }

  private static byte[] bytes(Map<String, Object> given, String name) {
    return Base64.getUrlDecoder().decode(text(given, name));
  }

  private static long number(Map<String, Object> given, String name) {
    return given.get(name) == null ? 0 : ((Double) given.get(name)).longValue();
  }

  private static boolean is(Map<String, Object> given, String name) {
    return Boolean.TRUE.equals(given.get(name));
  }
}
