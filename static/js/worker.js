// The service worker: shows a page of ours where the network shows none. It looks at page loads, at what that page
// is made of, and at what other programs share, which it keeps until the page it leads to has taken it.
const SHELL = `shell-${SETTINGS.version}`;

self.addEventListener("install", (event) => {
  // The browser's own cache may give them: their addresses name the version, and the page is asked for anew each time.
  event.waitUntil(caches.open(SHELL).then((cache) => cache.addAll(SETTINGS.shell)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith("shell-") && name !== SHELL) await caches.delete(name);
    }
    await self.clients.claim();
  })());
});

// What another program shares: the words go on as a draft, the files wait here for the page that attaches them
// (shared.js). Nothing of it reaches the server before that, and what was shared earlier and never opened goes.
async function storeShared(request) {
  const form = await request.formData();
  await caches.delete("shared");
  const cache = await caches.open("shared");
  const files = form.getAll("files").filter((file) => file instanceof File && file.size);
  for (const [at, file] of files.slice(0, SETTINGS.files).entries()) {
    const headers = { "Content-Type": file.type, "X-Name": encodeURIComponent(file.name), "X-Time": Date.now() };
    await cache.put(`${SETTINGS.share}/${at}`, new Response(file, { headers }));
  }
  const words = new URLSearchParams(files.length ? { shared: 1 } : {});
  for (const name of SETTINGS.words) {
    let value = String(form.get(name) ?? "");
    const space = SETTINGS.address - words.toString().length;
    while (value && new URLSearchParams({ [name]: value }).toString().length > space) value = value.slice(0, -100);
    if (value) words.set(name, value);
  }
  return Response.redirect(`${SETTINGS.home}?${words}`, 303);
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "POST") {
    if (request.mode === "navigate" && new URL(request.url).pathname === SETTINGS.share) event.respondWith(storeShared(request));
    return;
  }
  if (request.mode === "navigate" && request.method === "GET") {
    event.respondWith(fetch(request).catch(async () => (await caches.match(SETTINGS.offline)) ?? Response.error()));
  } else if (request.method === "GET" && SETTINGS.shell.includes(new URL(request.url).pathname)) {
    event.respondWith(caches.match(request).then((found) => found ?? fetch(request)));
  }
});

// From the server, while no page may be open: the name of a conversation, and what became of its reply.
self.addEventListener("push", (event) => {
  const { title, body, tag, place } = event.data.json();
  event.waitUntil(self.registration.showNotification(title, { body, tag, data: { place } }));
});

// A notification leads back to the tab it came from, or to its conversation.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const place = event.notification.data?.place ?? "/";
  event.waitUntil((async () => {
    const open = await self.clients.matchAll({ type: "window" });
    const same = open.find((client) => new URL(client.url).pathname === place) ?? open[0];
    if (same) await same.focus();
    else await self.clients.openWindow(place);
  })());
});
