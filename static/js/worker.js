// The service worker: shows a page of ours where the network shows none. It looks at page loads and at what that page
// is made of, at nothing else, and keeps nothing that belongs to anybody.
const SHELL = `shell-${KEPT.version}`;

self.addEventListener("install", (event) => {
  // The browser's own cache may give them: their addresses name the version, and the page is asked for anew each time.
  event.waitUntil(caches.open(SHELL).then((cache) => cache.addAll(KEPT.shell)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith("shell-") && name !== SHELL) await caches.delete(name);
    }
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate" && request.method === "GET") {
    event.respondWith(fetch(request).catch(async () => (await caches.match(KEPT.offline)) ?? Response.error()));
  } else if (request.method === "GET" && KEPT.shell.includes(new URL(request.url).pathname)) {
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
