"""The OpenAPI description of the JSON API, and the page to browse it."""
