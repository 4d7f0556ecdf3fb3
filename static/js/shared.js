// Files that another program shared: the worker kept them for this page (worker.js), which attaches them as if they had
// been chosen, and only once.
const field = document.querySelector("[data-attach]");

async function attachShared() {
  const cache = await caches.open("shared");
  const transfer = new DataTransfer();
  for (const request of await cache.keys()) {
    const response = await cache.match(request);
    if (!response || !(await cache.delete(request))) continue; // another tab was quicker
    const name = decodeURIComponent(response.headers.get("X-Name"));
    const isFresh = Date.now() - Number(response.headers.get("X-Time")) < 600_000;
    if (isFresh) transfer.items.add(new File([await response.blob()], name, { type: response.headers.get("Content-Type") }));
  }
  if (!transfer.files.length) return;
  field.files = transfer.files;
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

if (field && "caches" in globalThis) attachShared();
