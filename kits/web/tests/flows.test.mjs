// Enabling, logging in, paying and recovering, with honest and lying backends.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test, { mock } from "node:test";
import * as kit from "touchstone-kit";
import { wrapperKey } from "touchstone-kit/react-native";
import { assertion, installBrowser, Phone, registration, Service, Wrapper } from "./stand-ins.mjs";

const coffee = { amount: "3.20", currency: "EUR", payee: "Coffee Bar", reference: "order-1" };
const app = (service, languages) => ({ application_id: "shop", backend: service, languages });

async function bound(languages) {
  const [service, phone] = [new Service(), new Phone(kit)];
  const keys = new kit.DeviceKeys(app(service, languages), phone);
  assert.equal((await keys.enable("alice", "Alice's phone")).step, "done");
  phone.signed = [];
  return { service, phone, keys };
}

test("a phone is enabled, logs in, pays, and is disabled", async () => {
  const [service, phone] = [new Service(), new Phone(kit)];
  const keys = new kit.DeviceKeys(app(service), phone);
  const { device_id } = phone.kept;
  assert.equal((await keys.status()).status, "not-enabled");
  assert.equal((await keys.login()).step, "bind-again");

  const enabled = await keys.enable("alice", "Alice's phone");
  assert.deepEqual([enabled.step, enabled.notices], ["done", ["no-recovery-factor"]]);
  assert.match(enabled.answer.binding.binding_id, /^b_/);
  const [{ keys: sent, ...rest }] = service.named("completeBinding");
  assert.deepEqual([sent.length, sent[0].protection, sent[0].signatureForm], [1, "KEY_PROTECTION_BIOMETRY_CURRENT_SET", "SIGNATURE_FORM_RAW"]);
  assert.deepEqual([rest.ticket, rest.deviceName, rest.posture.os_version], ["dGlja2V0", "Alice's phone", "18.1"]);

  const login = await keys.login();
  assert.deepEqual([login.step, login.answer.profile_id, login.answer.token], ["done", "alice", "t"]);
  assert.equal(phone.signed.at(-1)[1], "Log in");
  assert.equal((await keys.pay(coffee)).step, "done");
  assert.equal((await keys.status("alice")).status, "ready");
  assert.equal((await keys.status("bob")).status, "other-profile");

  await keys.disable();
  assert.deepEqual([(await keys.status()).status, phone.key, phone.kept.device_id], ["not-enabled", undefined, device_id]);
  assert.deepEqual(service.named("revokeBinding"), [{ bindingId: enabled.answer.binding.binding_id }]);
});

test("a disabled device keeps everything if its binding could not be revoked", async () => {
  const { service, phone, keys } = await bound();
  service.revocation = new kit.CallError("UNAVAILABLE");
  await assert.rejects(keys.disable(), { name: "CallError", status: "UNAVAILABLE" });
  assert.deepEqual([(await keys.status()).status, !!phone.key], ["ready", true]);
  service.revocation = new kit.CallError("NOT_FOUND"); // the service does not know it any more
  await keys.disable();
  assert.equal((await keys.status()).status, "not-enabled");
  await keys.disable();
  assert.equal(service.named("revokeBinding").length, 2);
  assert.equal((await keys.enable("alice")).step, "done");
  service.revokeBinding = undefined; // a backend without it
  await keys.disable();
  assert.equal((await keys.status()).status, "not-enabled");
});

test("an app names its policies, and signs under no other one", async () => {
  const { service, keys } = await bound();
  assert.deepEqual([(await keys.login("at-night")).step, (await keys.pay(coffee, "large-payment")).step], ["done", "done"]);
  assert.deepEqual(service.named("beginEvaluation").map(({ policy }) => policy), ["at-night", "large-payment"]);
  service.lies.evaluation = () => ({ policy: "login" });
  assert.equal((await keys.login("at-night")).refused, "other-policy");
  installBrowser({ credential: () => assertion });
  const passkeys = new kit.Passkeys(app(service));
  assert.equal((await passkeys.login("at-night")).refused, "other-policy");
  assert.equal((await passkeys.autofill(undefined, "at-night")).refused, "other-policy");
  service.lies = {};
  assert.deepEqual([(await passkeys.login("at-night")).step, (await passkeys.pay(coffee, "large-payment")).step], ["done", "done"]);
});

test("a login's prompt shows the service's reason if all of it can be seen, a payment's what is signed", async () => {
  const { service, phone, keys } = await bound();
  for (const [reason, shown] of [
    ["Log in to the shop", "Log in to the shop"], ["", "shop"], ["Log\u202e in", "shop"], ["Log\nin", "shop"], ["x".repeat(513), "shop"], [7, "shop"], ["Log in \ud83d", "shop"],
  ]) {
    service.lies.evaluation = () => ({ reason });
    assert.equal((await keys.login()).step, "done");
    assert.equal(phone.signed.pop()[1], shown);
  }
  service.lies.evaluation = () => ({ reason: "Pay 0.01 EUR" });
  assert.equal((await keys.pay(coffee)).step, "done");
  assert.equal(phone.signed.pop()[1], "3.20 EUR, Coffee Bar");
});

test("a lying backend gets no signature", async (t) => {
  const lies = {
    "another transaction": ["pay", { transaction: { ...coffee, amount: "320.00" } }, "other-transaction"],
    "a payment in place of a login": ["login", { purpose: "payment", transaction: coffee }, "transaction-not-shown"],
    "a login in place of a payment": ["pay", { purpose: "login", transaction: undefined }, "not-a-payment"],
    "another policy": ["login", { policy: "login-without-a-finger" }, "other-policy"],
    "another policy for payments": ["pay", { policy: "small-payment" }, "other-policy"],
    "another application": ["login", { application: "bank" }, "other-application"],
    "another binding": ["login", { binding: "b_other" }, "other-binding"],
    "a payee that reorders": ["pay", { transaction: { ...coffee, payee: "Coffee \u202eraB" } }, "text-reorders"],
    "a challenge of 16 bytes": ["login", { challenge: Buffer.alloc(16) }, "wrong-challenge-length"],
  };
  for (const [name, [call, lie, code]] of Object.entries(lies)) {
    await t.test(name, async () => {
      const { service, phone, keys } = await bound();
      service.lies.evaluation = () => lie;
      const result = await (call === "pay" ? keys.pay(coffee) : keys.login());
      assert.deepEqual([result.step, result.refused, phone.signed, service.named("submitAttempt")], ["stop", code, [], []]);
    });
  }
  for (const [name, lie, code] of [
    ["another challenge than the ticket's", { toldChallenge: Buffer.alloc(32) }, "other-challenge"],
    ["another profile", { profile: "mallory" }, "other-profile"],
    ["another device", { device: "another-device-of-mallory" }, "other-device"],
  ]) {
    await t.test(name, async () => {
      const [service, phone] = [new Service(), new Phone(kit)];
      service.lies.binding = () => lie;
      const result = await new kit.DeviceKeys(app(service), phone).enable("alice");
      assert.deepEqual([result.step, result.refused, phone.key, phone.signed], ["stop", code, undefined, []]);
    });
  }
});

test("another language is not shown", async () => {
  const { service, keys } = await bound("zh-CN");
  const wrong = { outcome: "OUTCOME_TRY_AGAIN", laError: "LA_ERROR_AUTHENTICATION_FAILED", nextFactors: ["FACTOR_BIOMETRY"] };
  service.answers = [{ ...wrong, message: { locale: "en", text: "Try again." } }, { ...wrong, message: { locale: "zh-Hans", text: "请重试。" } }];
  assert.deepEqual([(await keys.login()).message, (await keys.retry()).message], [undefined, "请重试。"]);
  assert.equal((await keys.retry()).step, "done");
});

test("a login succeeds whatever the text beside it", async () => {
  const { service, keys } = await bound();
  service.answers = [{ outcome: "OUTCOME_SUCCEEDED", message: { locale: "en", text: "half of a pair: \ud83d" } }];
  const { step, message } = await keys.login();
  assert.deepEqual([step, message], ["done", undefined]);
});

test("a signature goes to the evaluation that it was made for, though the app began another one meanwhile", async () => {
  const { service, phone, keys } = await bound();
  const sign = phone.sign.bind(phone);
  service.lies.evaluation = () => ({ evaluation: `ZXZhbA${service.named("beginEvaluation").length}` });
  let second;
  phone.sign = async (...prompt) => {
    phone.sign = sign;
    second = await keys.pay(coffee); // a second tap while the first prompt stands
    return sign(...prompt);
  };
  service.answers = [{ outcome: "OUTCOME_TRY_AGAIN" }, { outcome: "OUTCOME_SUCCEEDED" }];
  const first = await keys.login();
  assert.deepEqual([second.step, first.step], ["try-again", "done"]);
  assert.deepEqual(service.named("submitAttempt").map(({ evaluation }) => evaluation), ["ZXZhbA2", "ZXZhbA1"]);
  assert.equal((await keys.retry()).step, "done", "the evaluation of the second tap is still open");
});

test("a key that dies between begin and sign means to bind again", async () => {
  const { service, phone, keys } = await bound();
  service.lies.evaluation = () => (phone.error = new kit.PromptError("key-gone"), {});
  const result = await keys.login();
  assert.deepEqual([result.step, result.factor, service.named("submitAttempt")], ["bind-again", "FACTOR_DEVICE_OWNER", []]);
  assert.equal((await keys.status()).status, "not-enabled");
  // The evaluation goes on by another factor, and tells the app to bind again. The service still knows the binding for that.
  service.answers = [{ outcome: "OUTCOME_SUCCEEDED" }];
  const { step, notices } = await keys.secret({ passcode: { passcode: "271828" } });
  assert.deepEqual([step, notices, service.named("revokeBinding")], ["done", ["bind-again"], []]);
  phone.error = undefined;
  service.lies = {};
  assert.equal((await keys.enable("alice")).step, "done");
  assert.equal((await keys.login()).step, "done");
});

test("a prompt that ends while a phone is bound says what to do, and binds nothing", async () => {
  for (const [code, step] of [[-1, "begin-again"], [-2, "stay"], [-5, "open-settings"], [-6, "open-settings"], [-7, "open-settings"], [-8, "log-in"]]) {
    const [service, phone] = [new Service(), new Phone(kit)];
    const { means, send } = kit.errorOf({ platform: "ios-la-error", code });
    phone.error = new kit.PromptError(means, send);
    const keys = new kit.DeviceKeys(app(service), phone);
    assert.deepEqual([(await keys.enable("alice")).step, (await keys.login()).step], [step, "bind-again"], means);
    assert.deepEqual([service.named("completeBinding"), service.named("submitAttempt")], [[], []]);
  }
});

test("a prompt that must be repeated is repeated once", async () => {
  const { phone, keys } = await bound();
  phone.error = new kit.PromptError("retry");
  assert.equal((await keys.login()).step, "try-again");
  assert.equal((await keys.retry()).step, "bind-again");
});

test("a code of the platform is reported, and its answer decides", async () => {
  const { service, phone, keys } = await bound();
  const { means, send } = kit.errorOf({ platform: "ios-la-error", code: -8 });
  phone.error = new kit.PromptError(means, send);
  service.answers = [{ outcome: "OUTCOME_LOCKED_OUT", laError: "LA_ERROR_BIOMETRY_LOCKOUT", nextFactors: ["FACTOR_DEVICE_OWNER"] }];
  const result = await keys.login();
  assert.deepEqual(service.named("submitAttempt")[0].report, { laError: -8 });
  assert.deepEqual([result.step, result.factor], ["use-factor", "FACTOR_DEVICE_OWNER"]);
});

test("enabling that fails leaves no binding whose key is gone", async () => {
  const { service, phone, keys } = await bound();
  phone.error = new kit.PromptError("cancel", -2);
  assert.equal((await keys.enable("alice")).step, "stay");
  assert.equal((await keys.status()).status, "not-enabled");
  phone.error = undefined;
  service.lies.bound = { binding: undefined };
  assert.equal((await keys.enable("alice")).refused, "no-binding");
  assert.equal((await keys.status()).status, "not-enabled");
  installBrowser({ credential: () => registration });
  assert.equal((await new kit.Passkeys(app(service)).register("alice")).refused, "no-binding");
});

test("a removal of the app ends a binding that the keychain kept, and not the device id", async () => {
  const { phone, keys } = await bound();
  const { device_id } = phone.kept;
  phone.kept.installation = "i-2";
  assert.deepEqual(await keys.status(), { status: "reinstalled", forget: ["binding", "keys"] });
  assert.equal((await keys.login()).step, "bind-again");
  assert.deepEqual([phone.key, phone.kept.binding, phone.kept.device_id], [undefined, undefined, device_id]);
  assert.equal((await keys.enable("alice")).step, "done");
  assert.equal((await keys.login()).step, "done");
});

test("a binding that was revoked is forgotten", async () => {
  for (const at of ["begin", "submit"]) {
    const { service, keys } = await bound();
    const denial = { reason: "BINDING_REVOKED", message: { locale: "en", text: "Set up this phone again." } };
    if (at === "begin") service.lies.evaluation = () => ({ denial });
    else service.answers = [{ outcome: "OUTCOME_FAILED", denial }];
    const { step, message } = await keys.login();
    assert.deepEqual([step, message], ["bind-again", "Set up this phone again."]);
    assert.equal((await keys.status()).status, "not-enabled");
  }
});

test("a factor that the device does not have is the app's to offer", async () => {
  const { service, phone, keys } = await bound();
  service.lies.evaluation = () => ({ factors: ["FACTOR_PASSCODE", "FACTOR_PRIMARY"] });
  assert.deepEqual([await keys.login(), phone.signed], [{ step: "prompt", factor: "FACTOR_PASSCODE" }, []]);
  service.answers = [{ outcome: "OUTCOME_LOCKED_OUT", laError: "LA_ERROR_AUTHENTICATION_FAILED", retryAfter: "59.5s" }, { outcome: "OUTCOME_SUCCEEDED" }];
  const passcode = { passcode: { passcode: "271828" } };
  const locked = await keys.secret(passcode);
  assert.deepEqual([locked.step, locked.seconds], ["wait", 60]);
  assert.deepEqual(service.named("submitAttempt")[0].passcode, passcode.passcode);
  assert.equal((await keys.secret({ gesture: { points: [0, 1, 2, 5] } })).step, "done");
  assert.equal((await keys.secret(passcode)).step, "begin-again");
});

test("calls that fail", async () => {
  const { service, keys } = await bound();
  service.answers = [new kit.CallError("UNAVAILABLE", "", 2.5)];
  assert.deepEqual(await keys.login(), { step: "wait", seconds: 3 });
  service.answers = [new RangeError("a mistake of the app")];
  await assert.rejects(keys.login(), RangeError);
  assert.equal((await new kit.DeviceKeys(app(service), new Phone(kit)).retry()).step, "begin-again");
});

test("passkeys are registered, log in and pay", async () => {
  const { asked, signaled } = installBrowser({ credential: (method) => (method === "create" ? registration : assertion) });
  const service = new Service();
  const passkeys = new kit.Passkeys(app(service));
  assert.equal((await passkeys.register("alice", "Laptop")).step, "done");
  const [, { publicKey, mediation }] = asked[0];
  assert.equal(Buffer.from(publicKey.user.id).toString(), "user-1");
  assert.equal(Buffer.from(publicKey.excludeCredentials[0].id).toString(), "before");
  assert.equal(mediation, undefined);
  assert.deepEqual(service.named("completeBinding")[0], {
    ticket: "dGlja2V0", deviceName: "Laptop", passkey: { attestationObject: "b2JqZWN0", clientDataJson: "e30", transports: ["internal"] },
  });
  assert.equal((await passkeys.login()).answer.token, "t");
  assert.equal((await passkeys.pay(coffee)).step, "done");
  assert.deepEqual(service.named("submitAttempt")[0].passkey, {
    credentialId: "YmVmb3Jl", authenticatorData: "ZGF0YQ", clientDataJson: "e30", signature: "c2lnbmF0dXJl", userHandle: "dXNlci0x",
  });
  assert.deepEqual(signaled[0], { rpId: "localhost", userId: "dXNlci0x", allAcceptedCredentialIds: ["YmVmb3Jl", "bmV3"] });
  assert.equal(signaled.length, 3);
});

test("the password manager is told nothing after a failure", async () => {
  const { signaled } = installBrowser({ credential: () => assertion });
  const service = new Service();
  service.answers = [{ outcome: "OUTCOME_TRY_AGAIN", laError: "LA_ERROR_AUTHENTICATION_FAILED" }];
  assert.equal((await new kit.Passkeys(app(service)).login()).step, "try-again");
  assert.deepEqual([signaled, service.named("acceptedPasskeys")], [[], []]);
});

test("a login succeeds without the list of passkeys, and in a browser without signals", async () => {
  const { signaled } = installBrowser({ credential: () => assertion });
  const service = new Service();
  service.accepted = ["bmV3"];
  assert.equal((await new kit.Passkeys(app(service)).login()).step, "done");
  assert.deepEqual(signaled, []); // the list lacks the passkey that has just logged in
  service.acceptedPasskeys = () => Promise.reject(new Error("no list"));
  assert.equal((await new kit.Passkeys(app(service)).login()).step, "done");
  installBrowser({ credential: () => assertion, signals: false });
  assert.equal((await new kit.Passkeys(app(service)).login()).step, "done");
});

test("options with another challenge, or a signing input of another's, reach no authenticator", async (t) => {
  for (const [name, lie, code] of [
    ["another challenge", { options: { challenge: "AAAA" } }, "other-challenge"],
    ["no challenge", { options: { challenge: undefined } }, "not-base64"],
    ["options that are none", { options: { allowCredentials: 7 } }, "malformed-options"],
    ["another application", { application: "bank" }, "other-application"],
    ["another transaction", { transaction: { ...coffee, payee: "Mallory" } }, "other-transaction"],
  ]) {
    await t.test(name, async () => {
      const { asked } = installBrowser({ credential: () => assertion });
      const service = new Service();
      service.lies.evaluation = () => lie;
      const result = await new kit.Passkeys(app(service)).pay(coffee);
      assert.deepEqual([result.step, result.refused, asked], ["stop", code, []]);
    });
  }
});

test("errors of the browser", async () => {
  for (const [name, step, notices] of [
    ["NotAllowedError", "stay"], ["InvalidStateError", "stay", ["already-registered"]], ["SecurityError", "fix-app"],
    ["NotSupportedError", "log-in"], ["ConstraintError", "log-in"],
  ]) {
    installBrowser({ credential: () => new DOMException("no", name) });
    const result = await new kit.Passkeys(app(new Service())).register("alice");
    assert.deepEqual([result.step, result.notices], [step, notices], name);
  }
});

test("a browser without passkeys", async () => {
  installBrowser();
  delete globalThis.PublicKeyCredential;
  const passkeys = new kit.Passkeys(app(new Service()));
  for (const call of ["register", "login", "pay", "autofill"]) assert.equal((await passkeys[call]("alice")).step, "log-in", call);
  assert.equal((await passkeys.upgrade("alice")).step, "stay");
});

test("a password is upgraded only where the browser can", async () => {
  const { asked } = installBrowser({ credential: () => registration });
  const service = new Service();
  assert.equal((await new kit.Passkeys(app(service)).upgrade("alice")).step, "done");
  assert.deepEqual([asked[0][1].mediation, service.named("beginBinding")[0].passkey], ["conditional", { conditional: true }]);
  installBrowser({ credential: () => registration, conditional: false });
  assert.equal((await new kit.Passkeys(app(service)).upgrade("alice")).step, "stay");
  assert.equal(service.named("beginBinding").length, 1);
});

test("autofill renews its options before they expire, whatever the clock says", async (t) => {
  for (const [name, offset, renewedAfter] of [["a right clock", 120, 90], ["a clock an hour ahead", -3480, 90], ["a clock a day behind", 86_520, 90]]) {
    await t.test(name, async () => {
      mock.timers.enable({ apis: ["setTimeout"] });
      try {
        let chosen;
        const { asked, whenAsked } = installBrowser({ credential: (_, options) => (asked.length === 2 ? (chosen = options, assertion) : undefined) });
        const service = new Service();
        service.lies.evaluation = () => ({ expires_at: new Date(Date.now() + offset * 1000).toISOString() });
        const result = new kit.Passkeys(app(service)).autofill();
        await whenAsked(1);
        mock.timers.tick(renewedAfter * 1000 - 1500);
        assert.equal(asked[0][1].signal.aborted, false);
        mock.timers.tick(2000);
        assert.equal((await result).step, "done");
        assert.equal(chosen.mediation, "conditional");
        assert.deepEqual([service.named("beginEvaluation").length, service.named("submitAttempt").length], [2, 1]);
      } finally {
        mock.timers.reset();
      }
    });
  }
});

test("autofill ends when the app says so, when a button is pressed, or where there is none", async () => {
  const { asked, whenAsked } = installBrowser({ credential: (_, { mediation }) => (mediation ? undefined : assertion) });
  const passkeys = new kit.Passkeys(app(new Service()));
  const controller = new AbortController();
  const first = passkeys.autofill(controller.signal);
  await whenAsked(1);
  controller.abort();
  assert.equal((await first).step, "stay");
  const second = passkeys.autofill();
  await whenAsked(2);
  assert.equal((await passkeys.login()).step, "done");
  assert.equal((await second).step, "stay");
  assert.equal((await passkeys.autofill(controller.signal)).step, "stay");
  assert.equal(asked.filter(([, { signal }]) => !signal.aborted).length, 1);
  installBrowser({ credential: () => assertion, conditional: false });
  assert.equal((await passkeys.autofill()).step, "log-in");
});

test("react-native-biometrics signs the text, with RSA, on both platforms", async (t) => {
  for (const [platform, protection, answers] of [
    ["ios", "BIOMETRY_ANY", { system_version: "18.1", biometry_type: 2, domain_state: "ZmluZ2Vycw==" }],
    ["android", "BIOMETRY_CURRENT_SET", { system_version: "14", can_authenticate: 0, device_secure: true }],
  ]) {
    await t.test(platform, async () => {
      let item = null;
      const phone = {
        answers: async () => ({ platform, ...answers }), read: async () => item, write: async (text) => void (item = text),
        installation: async () => "i-1", uuid: () => "6f1f1c1e-3d0b-4b7e-9a55-0c2d6f4f8e21",
      };
      const [service, wrapper] = [new Service(), new Wrapper()];
      const keys = new kit.DeviceKeys(app(service), wrapperKey(wrapper, phone, protection));
      assert.equal((await keys.enable("alice", "Phone", "Enable")).step, "done");
      const [{ keys: [key], posture }] = service.named("completeBinding");
      assert.deepEqual([key.protection, key.signatureForm], [`KEY_PROTECTION_${protection}`, "SIGNATURE_FORM_BASE64URL_TEXT"]);
      assert.equal(posture.domain_state, answers.domain_state ?? "");
      assert.equal((await keys.login()).step, "done");
      assert.deepEqual(wrapper.prompts, ["Enable", "Log in"]);
      assert.equal((await keys.status("alice")).status, "ready");

      wrapper.cancels = true;
      assert.equal((await keys.login()).step, "stay");
      assert.deepEqual(service.named("submitAttempt").at(-1).report, { laError: -2 });
      wrapper.cancels = false;
      for (const [text, report] of [
        ["Signature error: Error Domain=com.apple.LocalAuthentication Code=-8 \"Biometry is locked out.\"", -8],
        ["Signature error: Error Domain=NSOSStatusErrorDomain Code=-25293 \"failed\"", -1],
        ["Too many attempts. Try again later.", -4],
      ]) {
        wrapper.error = text;
        await keys.login();
        assert.deepEqual(service.named("submitAttempt").at(-1).report, { laError: report }, text);
      }
      wrapper.error = platform === "ios" ? "Key not found: error item not found" : "Error generating signature: Key permanently invalidated";
      assert.equal((await keys.login()).step, "bind-again");
      assert.equal((await keys.status()).status, "not-enabled");
      assert.equal(JSON.parse(item).device_id, "6f1f1c1e-3d0b-4b7e-9a55-0c2d6f4f8e21");
    });
  }
});

test("a wrapper's key in PKCS#1 is sent as SPKI", async () => {
  const wrapper = new Wrapper();
  const spki = Buffer.from((await wrapper.createKeys()).publicKey, "base64");
  wrapper.createKeys = async () => ({ publicKey: spki.subarray(24).toString("base64") });
  assert.deepEqual(Buffer.from(await wrapperKey(wrapper, {}, "BIOMETRY_ANY").create()), spki);
});

test("the backend over fetch", async () => {
  const paths = [];
  const server = createServer(async (request, response) => {
    const [body] = await once(request, "data");
    paths.push([request.method, request.url, request.headers["x-csrf"], JSON.parse(body)]);
    const answers = {
      "/api/BeginEvaluation": [200, { laError: "LA_ERROR_BIOMETRY_LOCKOUT", retryAfter: "1.5s", nextFactors: ["FACTOR_PASSCODE"] }],
      "/api/SubmitAttempt": [429, { code: "resource_exhausted", details: [{ debug: { reason: "TOO_MANY" } }, { debug: { retryDelay: "4s" } }] }],
      "/api/BeginBinding": [502, "a proxy's page"],
      "/api/CompleteBinding": [403, {}],
    };
    const [status, answer] = answers[request.url] ?? [404, { code: "not_found" }];
    response.writeHead(status).end(typeof answer === "string" ? answer : JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const backend = kit.fetchBackend(`http://127.0.0.1:${server.address().port}/api`, { headers: { "x-csrf": "1" } });
  assert.deepEqual(await backend.beginEvaluation({ policy: "login" }), { la_error: 0, retry_after: 1.5, next_factors: ["FACTOR_PASSCODE"] });
  assert.deepEqual(paths[0], ["POST", "/api/BeginEvaluation", "1", { policy: "login" }]);
  const failure = (call) => call.then(() => assert.fail(), (error) => [error.name, error.status, error.reason, error.retry_after]);
  assert.deepEqual(await failure(backend.submitAttempt({})), ["CallError", "RESOURCE_EXHAUSTED", "TOO_MANY", 4]);
  assert.deepEqual(await failure(backend.beginBinding({})), ["CallError", "UNAVAILABLE", undefined, undefined]);
  assert.deepEqual(await failure(backend.completeBinding({})), ["CallError", "UNKNOWN", undefined, undefined]);
  assert.deepEqual(await failure(backend.acceptedPasskeys()), ["CallError", "NOT_FOUND", undefined, undefined]);
  assert.equal(kit.nextStep("failed", { status: "canceled".toUpperCase() }).step, "begin-again"); // as Connect spells it
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  assert.deepEqual(await failure(backend.beginEvaluation({})), ["CallError", "UNAVAILABLE", undefined, undefined]);
});

test("texts in base64", () => {
  for (let length = 0; length < 70; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 151 + length) & 255);
    const buffer = Buffer.from(bytes);
    assert.equal(kit.base64url(bytes), buffer.toString("base64url"));
    assert.deepEqual([...kit.fromBase64(buffer.toString("base64"))], [...bytes]);
    assert.deepEqual([...kit.fromBase64(buffer.toString("base64url"))], [...bytes]);
  }
  for (const text of ["A", "AA=A", "A A", "é", "AAAAA"]) assert.throws(() => kit.fromBase64(text), { code: "not-base64" });
  assert.throws(() => kit.utf8("\ud800"), { code: "not-utf8" });
});
