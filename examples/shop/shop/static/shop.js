// Each button with data-action asks the kit; data-then is where a success leads.
import { fetchBackend, Passkeys } from "/kit.js";

const languages = document.documentElement.lang;
const backend = fetchBackend("/touchstone", { headers: { "accept-language": languages } });
const passkeys = new Passkeys({ application_id: "shop", backend, languages });
const say = (text) => { document.querySelector("#status").textContent = text; };

const actions = {
  login: () => passkeys.login(),
  register: ({ profile }) => passkeys.register(profile, "Browser"),
  pay: ({ transaction }) => passkeys.pay(JSON.parse(transaction)), // the page shows it
  async revoke({ binding }) {
    const headers = { "content-type": "application/json" };
    const sent = await fetch("/touchstone/RevokeBinding", { method: "POST", headers, body: JSON.stringify({ bindingId: binding }) });
    return { step: sent.ok ? "done" : "try-again" };
  },
};

/** What each step of the kit means here; the service's own text comes first. */
const texts = {
  stay: "Canceled.",
  "log-in": "Log in by your password first.",
  "bind-again": "This passkey was removed. Log in by your password, and add it again.",
  "fix-app": "This shop has a mistake.",
  stop: "Stopped: what was to be signed is not what you saw.",
};

function show(result, then) {
  if (result.step === "done") location.assign(then || location.href);
  else if (result.notices?.includes("already-registered")) say("There is a passkey already.");
  else say(result.message ?? texts[result.step] ?? "Try again.");
}

for (const button of document.querySelectorAll("[data-action]")) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    show(await actions[button.dataset.action](button.dataset), button.dataset.then);
    button.disabled = false;
  });
}

const form = document.querySelector("[data-autofill]");
if (form) {
  const result = await passkeys.autofill();
  if (result.step === "done") show(result, form.dataset.autofill);
}
