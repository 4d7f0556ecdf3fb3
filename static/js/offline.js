// Words that could not be sent wait, and go out once when the connection is back: their key makes a second arrival
// of the same words harmless.
import { $ } from "./dom.js";
import { form, read } from "./drafts.js";
import { toast } from "./toasts.js";
import { t } from "./words.js";

export const WAITING = t("There is no connection at the moment. This is sent when it is back.");
const PAUSE = 4000;

export async function whenBack() {
  if (!form() || !read().waiting || !navigator.onLine) return;
  try {
    await fetch("/healthz", { cache: "no-store" });
  } catch {
    return void setTimeout(whenBack, PAUSE);
  }
  if (form() && read().waiting && $("[data-send]") && $("#composer-text").value.trim()) form().requestSubmit();
}

export const tryLater = () => setTimeout(whenBack, PAUSE);

addEventListener("online", whenBack);
addEventListener("offline", () => toast(t("You are offline. You can go on writing.")));
