// The page of the API: Swagger UI on our own description, with the session's CSRF token where a request needs it.
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
const element = document.getElementById("docs");

// Swagger UI has a dark scheme of its own, switched by this class.
const device = matchMedia("(prefers-color-scheme: dark)");
function followTheme() {
  const theme = document.documentElement.dataset.theme;
  document.documentElement.classList.toggle("dark-mode", theme ? theme === "dark" : device.matches);
}
followTheme();
device.addEventListener("change", followTheme);

/** The search box looks into paths, methods and what operations say of themselves, not only into tags. */
function opsFilter(tagged, phrase) {
  const query = phrase.toLowerCase();
  const textOf = (operation, name) =>
    [name, operation.get("method"), operation.get("path"), operation.getIn(["operation", "summary"], ""), operation.getIn(["operation", "description"], "")]
      .join(" ")
      .toLowerCase();
  return tagged
    .map((tag, name) => tag.set("operations", tag.get("operations").filter((operation) => textOf(operation, name).includes(query))))
    .filter((tag) => tag.get("operations").size > 0);
}

window.SwaggerUIBundle({
  url: element.dataset.document,
  domNode: element,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
  filter: true,
  plugins: [() => ({ fn: { opsFilter } })],
  requestInterceptor(request) {
    const isOurs = new URL(request.url, location.href).origin === location.origin;
    if (isOurs && !SAFE.has((request.method || "GET").toUpperCase())) request.headers["X-CSRFToken"] = element.dataset.csrf;
    return request;
  },
});
