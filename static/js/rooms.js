// Settings and Administration were one long page each: an address with one of its anchors leads on to the room of it.
import { $ } from "./dom.js";

const ROOM_OF_ANCHOR = {
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

function redirect() {
  const anchor = location.hash.slice(1);
  const page = location.pathname.split("/").pop(); // the addresses above are relative to the folder it is in
  const room = ROOM_OF_ANCHOR[page]?.[anchor];
  if (room) location.replace(room);
  else if (anchor && $(`.room [id="${CSS.escape(anchor)}"]`)) $(".rooms").classList.remove("is-first"); // on a phone, too
}

redirect();
addEventListener("hashchange", redirect);
