async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith("read-"));
  const found = [];
  for (const name of names) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      const answer = await cache.match(request);
      if (answer) found.push(await answer.json());  // it may be taken out just now
    }
  }
  return found;
}
