// Settings and Administration were one long page each: an address with one of its anchors leads on to the room of it.
import { $ } from "./dom.js";

const MOVED = {
  settings: {
    password: "settings/security#password", "two-step": "settings/security#two-step", passkeys: "settings/security#passkeys",
    sessions: "settings/sessions", tokens: "settings/tokens", programs: "settings/programs", tools: "settings/tools",
    usage: "usage", files: "files", transfer: "transfer", shares: "shares", delete: "settings/delete",
  },
  admin: {
    users: "admin/users", registration: "admin/users#registration", activity: "admin/activity",
    feedback: "admin/feedback", prompts: "admin/prompts", models: "admin/models", jobs: "admin/rq",
  },
};

function lead() {
  const anchor = location.hash.slice(1);
  const house = location.pathname.split("/").pop(); // the addresses above are relative to the folder it is in
  const place = MOVED[house]?.[anchor];
  if (place) location.replace(place);
  else if (anchor && $(`.room [id="${CSS.escape(anchor)}"]`)) $(".rooms").classList.remove("is-first"); // on a phone, too
}

lead();
addEventListener("hashchange", lead);
