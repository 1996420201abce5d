// The console's only script: asks the browser for a passkey, as a form's options say, and sends the form with the answer.
"use strict";

const decoded = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const encoded = (buffer) =>
  btoa(Array.from(new Uint8Array(buffer ?? []), (byte) => String.fromCharCode(byte)).join(""))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const credential = (entry) => ({ ...entry, id: decoded(entry.id) });

async function ask(kind, options) {
  options.challenge = decoded(options.challenge);
  if (kind === "get") {
    const { rawId, response } = await navigator.credentials.get({ publicKey: options });
    return {
      credential: rawId, authenticator: response.authenticatorData, client: response.clientDataJSON,
      signature: response.signature, handle: response.userHandle,
    };
  }
  options.user.id = decoded(options.user.id);
  options.excludeCredentials = options.excludeCredentials.map(credential);
  const { response } = await navigator.credentials.create({ publicKey: options });
  return { attestation: response.attestationObject, client: response.clientDataJSON };
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [button, notice] = [form.querySelector("button"), form.querySelector("[role=alert]")];
    button.disabled = true;
    notice.hidden = true;
    try {
      const answer = await ask(form.dataset.passkey, JSON.parse(form.dataset.options));
      for (const [name, value] of Object.entries(answer)) form.elements[name].value = encoded(value);
      form.submit();
    } catch {
      notice.hidden = false;
      button.disabled = false;
    }
  });
}
