// Conversations that were read last, as this browser keeps them for when there is no connection: its person's, until
// they sign out. They lie in Cache Storage, one entry a conversation.
import { store } from "./dom.js";

export const READER = "reader"; // whose they are, in local storage
const MAX_CONVERSATIONS = 20;
const MAX_DAYS = 30;
const cacheName = (reader) => `read-${reader}`;
const urlOf = (id) => `/kept/${id}`;
const isSupported = "caches" in globalThis;

/** All of a person's, the last read first: {id, title, html, at}. */
export async function readAll(reader) {
  if (!isSupported || !reader || !(await caches.has(cacheName(reader)))) return [];
  const cache = await caches.open(cacheName(reader));
  const found = [];
  for (const request of await cache.keys()) found.push(await (await cache.match(request)).json());
  return found.sort((one, other) => other.at - one.at);
}

/** Keeps one; the oldest ones go. Nothing is kept for somebody who is not the one signed in any more. */
export async function save(reader, conversation) {
  if (!isSupported || store.get(READER) !== reader) return;
  const cache = await caches.open(cacheName(reader));
  await cache.put(urlOf(conversation.id), new Response(JSON.stringify(conversation)));
  const old = Date.now() - MAX_DAYS * 86_400_000;
  for (const [index, other] of (await readAll(reader)).entries()) {
    if (index >= MAX_CONVERSATIONS || other.at < old) await cache.delete(urlOf(other.id));
  }
  if (store.get(READER) !== reader) await clear(); // signed out meanwhile
}

/** Lets go of one. */
export async function remove(reader, id) {
  if (isSupported && reader && (await caches.has(cacheName(reader)))) await (await caches.open(cacheName(reader))).delete(urlOf(id));
}

/** Lets go of everything, and of what was shared and not opened, except for what is one person's. */
export async function clear(except = "") {
  if (!isSupported) return;
  for (const name of await caches.keys()) {
    if (name === "shared" || (name.startsWith("read-") && name !== cacheName(except))) await caches.delete(name);
  }
}
