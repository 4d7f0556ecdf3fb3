// Conversations that were read last, as this browser keeps them for when there is no connection: its person's, until
// they sign out. They lie in Cache Storage, one entry a conversation.
import { store } from "./dom.js";

export const READER = "reader"; // whose they are, in local storage
const MOST = 20;
const DAYS = 30;
const nameOf = (reader) => `read-${reader}`;
const place = (id) => `/kept/${id}`;
const can = "caches" in globalThis;

/** All of a person's, the last read first: {id, title, html, at}. */
export async function all(reader) {
  if (!can || !reader || !(await caches.has(nameOf(reader)))) return [];
  const cache = await caches.open(nameOf(reader));
  const found = [];
  for (const request of await cache.keys()) found.push(await (await cache.match(request)).json());
  return found.sort((one, other) => other.at - one.at);
}

/** Keeps one; the oldest ones go. Nothing is kept for somebody who is not the one signed in any more. */
export async function keep(reader, conversation) {
  if (!can || store.get(READER) !== reader) return;
  const cache = await caches.open(nameOf(reader));
  await cache.put(place(conversation.id), new Response(JSON.stringify(conversation)));
  const old = Date.now() - DAYS * 86_400_000;
  for (const [at, other] of (await all(reader)).entries()) {
    if (at >= MOST || other.at < old) await cache.delete(place(other.id));
  }
  if (store.get(READER) !== reader) await forget(); // signed out meanwhile
}

/** Lets go of one. */
export async function drop(reader, id) {
  if (can && reader && (await caches.has(nameOf(reader)))) await (await caches.open(nameOf(reader))).delete(place(id));
}

/** Lets go of everything, and of what was shared and not opened, except for what is one person's. */
export async function forget(except = "") {
  if (!can) return;
  for (const name of await caches.keys()) {
    if (name === "shared" || (name.startsWith("read-") && name !== nameOf(except))) await caches.delete(name);
  }
}
