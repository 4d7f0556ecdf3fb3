// Files that another program shared: the worker kept them for this page (worker.js), which attaches them as if they had
// been chosen, and only once.
const field = document.querySelector("[data-attach]");

async function take() {
  const cache = await caches.open("shared");
  const chosen = new DataTransfer();
  for (const request of await cache.keys()) {
    const kept = await cache.match(request);
    if (!kept || !(await cache.delete(request))) continue; // another tab was quicker
    const name = decodeURIComponent(kept.headers.get("X-Name"));
    const isFresh = Date.now() - Number(kept.headers.get("X-Time")) < 600_000;
    if (isFresh) chosen.items.add(new File([await kept.blob()], name, { type: kept.headers.get("Content-Type") }));
  }
  if (!chosen.files.length) return;
  field.files = chosen.files;
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

if (field && "caches" in globalThis) take();
