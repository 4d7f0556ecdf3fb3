// Passkeys: asks the browser for one and hands what it made or signed to the form, which sends it.

async function send(form, ask) {
  const problem = form.querySelector("[data-passkey-problem]");
  problem.hidden = true;
  try {
    form.elements.credential.value = JSON.stringify(await ask());
  } catch {
    problem.hidden = false; // given up, timed out, or this device has none
    return;
  }
  form.submit();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.passkeyAdd) {
    event.preventDefault();
    const options = JSON.parse(form.dataset.passkeyAdd);
    send(form, () => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }));
  } else if (form.dataset.passkeySignIn) {
    event.preventDefault();
    send(form, async () => {
      const answer = await fetch(form.dataset.passkeySignIn, {
        method: "POST",
        headers: { "X-CSRFToken": form.elements.csrf_token.value, Accept: "application/json" },
      });
      if (!answer.ok) throw new Error(`options: ${answer.status}`);
      const options = PublicKeyCredential.parseRequestOptionsFromJSON(await answer.json());
      return navigator.credentials.get({ publicKey: options });
    });
  }
});

if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) {
  for (const form of document.querySelectorAll("[data-passkey-sign-in]")) form.hidden = true;
}
