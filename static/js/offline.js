// Words that could not be sent wait, and go out once when the connection is back: their key makes a second arrival
// of the same words harmless.
import { $ } from "./dom.js";
import { form, read } from "./drafts.js";
import { toast } from "./toasts.js";
import { t } from "./i18n.js";

export const OFFLINE = t("There is no connection at the moment. This is sent when it is back.");
const RETRY_MS = 4000;

export async function sendWhenOnline() {
  if (!form() || !read().waiting || !navigator.onLine) return;
  try {
    await fetch("/healthz", { cache: "no-store" });
  } catch {
    return void setTimeout(sendWhenOnline, RETRY_MS);
  }
  if (form() && read().waiting && $("#composer-text").value.trim()) form().requestSubmit();
}

export const retryLater = () => setTimeout(sendWhenOnline, RETRY_MS);

addEventListener("online", sendWhenOnline);
addEventListener("offline", () => toast(t("You are offline. You can keep writing.")));
