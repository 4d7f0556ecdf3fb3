// Passkeys: asks the browser for one and hands what it made or signed to the form, which sends it.

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (ch) => ch.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

/** The options of the server as the browser takes them. */
function options(json) {
  const parsed = JSON.parse(json);
  parsed.challenge = bytes(parsed.challenge);
  if (parsed.user) parsed.user.id = bytes(parsed.user.id);
  for (const list of ["excludeCredentials", "allowCredentials"]) {
    parsed[list] = (parsed[list] ?? []).map((credential) => ({ ...credential, id: bytes(credential.id) }));
  }
  return parsed;
}

/** What the browser made or signed, as the server takes it. */
function toJson(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = text(credential.response[name]);
  }
  return JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    response,
    clientExtensionResults: {},
  });
}

function showProblem(form, show) {
  form.querySelector("[data-passkey-problem]").hidden = !show;
}

async function send(form, ask) {
  showProblem(form, false);
  try {
    form.elements.credential.value = toJson(await ask());
  } catch {
    showProblem(form, true); // given up, timed out, or this device has none
    return;
  }
  form.submit();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.passkeyAdd) {
    event.preventDefault();
    send(form, () => navigator.credentials.create({ publicKey: options(form.dataset.passkeyAdd) }));
  } else if (form.dataset.passkeySignIn) {
    event.preventDefault();
    send(form, async () => {
      const answer = await fetch(form.dataset.passkeySignIn, {
        method: "POST",
        headers: { "X-CSRFToken": form.elements.csrf_token.value, Accept: "application/json" },
      });
      if (!answer.ok) throw new Error(`options: ${answer.status}`);
      return navigator.credentials.get({ publicKey: options(await answer.text()) });
    });
  }
});

if (!window.PublicKeyCredential) {
  for (const form of document.querySelectorAll("[data-passkey-sign-in]")) form.hidden = true;
}
