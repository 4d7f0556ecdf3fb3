// The page of the API: Swagger UI on our own description, with the session's CSRF token where a request needs it.
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
const place = document.getElementById("docs");

// Swagger UI has a dark scheme of its own, switched by this class.
const device = matchMedia("(prefers-color-scheme: dark)");
function followTheme() {
  const chosen = document.documentElement.dataset.theme;
  document.documentElement.classList.toggle("dark-mode", chosen ? chosen === "dark" : device.matches);
}
followTheme();
device.addEventListener("change", followTheme);

window.SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
  requestInterceptor(request) {
    const isOurs = new URL(request.url, location.href).origin === location.origin;
    if (isOurs && !SAFE.has((request.method || "GET").toUpperCase())) request.headers["X-CSRFToken"] = place.dataset.csrf;
    return request;
  },
});
