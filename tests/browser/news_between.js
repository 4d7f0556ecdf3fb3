() => {
  const send = window.fetch, undo = Promise.withResolvers(), news = Promise.withResolvers();
  const isNews = (url) => url.includes("/news?");
  window.fetch = async (url, options) => {
    if (isNews(url)) await undo.promise;
    const answer = await send(url, options);
    if (url.endsWith("/undo")) {
      undo.resolve();
      await news.promise;
    }
    return answer;
  };
  htmx.on("htmx:finally:request", ({ detail: { ctx } }) => isNews(ctx.request.action) && news.resolve());
  document.dispatchEvent(new Event("visibilitychange"));
}
