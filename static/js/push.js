// Notifications by the server: what a schedule brings it tells this browser itself, through the browser's maker;
// worker.js shows it. And the choice in the settings. Loaded only where one of them is needed.
import { $, on, store } from "./dom.js";

const getPushManager = async () => (await navigator.serviceWorker?.getRegistration())?.pushManager;

const send = (method, body) => fetch("/api/push/subscriptions", {
  method,
  headers: { "Content-Type": "application/json", "X-CSRFToken": $("[name=csrf_token]").value },
  body: JSON.stringify(body),
});

/** Have the server notify this browser too; one whose maker offers that to nobody goes without. */
export async function subscribe() {
  const manager = await getPushManager();
  if (!manager) return;
  try {
    const { public_key } = await (await fetch("/api/push")).json();
    const options = { userVisibleOnly: true, applicationServerKey: public_key };
    const subscription = await manager.subscribe(options).catch(async () => { // with the key of an installation before
      await (await manager.getSubscription())?.unsubscribe();
      return manager.subscribe(options);
    });
    await send("POST", subscription.toJSON());
  } catch (error) {
    console.warn("no notifications from the server", error);
  }
}

/** The server notifies it no more. */
async function unsubscribe() {
  const subscription = await (await getPushManager())?.getSubscription();
  if (!subscription) return;
  await send("DELETE", { endpoint: subscription.endpoint });
  await subscription.unsubscribe();
}

/** The switch of the settings, which stores under `key` whether notifications are wanted. */
export function showChoice(section, key, isWanted) {
  section.hidden = false;
  $("[data-notify]", section).checked = isWanted;
  on("change", "[data-notify]", async (_event, box) => {
    const isAllowed = box.checked && (await Notification.requestPermission()) === "granted";
    $("[data-notify-refused]").hidden = !box.checked || isAllowed;
    box.checked = isAllowed;
    if (isAllowed) store.set(key, true);
    else store.remove(key);
    await (isAllowed ? subscribe() : unsubscribe());
  });
}
