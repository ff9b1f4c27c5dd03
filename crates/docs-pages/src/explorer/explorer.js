// Starts Swagger UI for the version of the page, and sends its requests with the reader's token.
"use strict";

(() => {
  /** The name of the token in the storage of the tab. */
  const KEY = "explorer-token";
  const explorer = document.getElementById("swagger-ui");
  const form = document.getElementById("token-form");
  const field = document.getElementById("token");
  const outcome = document.getElementById("token-outcome");

  /** Swagger UI has a dark theme for a class of the document. */
  function followColourScheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
    dark.addEventListener("change", apply);
    apply();
  }

  function withToken(request) {
    const token = sessionStorage.getItem(KEY);
    if (token && !request.loadSpec) {
      request.headers.Authorization = `Bearer ${token}`;
    }
    return request;
  }

  /** Tries the token with the smallest request, and shows the result. */
  async function tryToken(token) {
    const headers = { Authorization: `Bearer ${token}` };
    const reply = await fetch(`${explorer.dataset.base}/info`, { headers });
    outcome.textContent = reply.ok
      ? `GET ${explorer.dataset.base}/info: status ${reply.status}. The token works; it is in all requests of this page.`
      : `GET ${explorer.dataset.base}/info: status ${reply.status}. Check the token.`;
  }

  function useToken(event) {
    event.preventDefault();
    const token = field.value.trim();
    sessionStorage.setItem(KEY, token);
    if (!token) {
      outcome.textContent = "The token is removed.";
      return;
    }
    tryToken(token).catch(() => {
      outcome.textContent = "The register did not reply. Try again.";
    });
  }

  /** Leaves out the parts of Swagger UI that the page has itself: title, servers and locks. */
  function withoutFrame() {
    const nothing = () => () => null;
    return {
      wrapComponents: {
        authorizeOperationBtn: nothing,
        InfoContainer: nothing,
        SchemesContainer: nothing,
        ServersContainer: nothing,
      },
    };
  }

  followColourScheme();
  field.value = sessionStorage.getItem(KEY) || "";
  form.addEventListener("submit", useToken);
  form.hidden = false;
  SwaggerUIBundle({
    domNode: explorer,
    url: explorer.dataset.openapi,
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [withoutFrame],
    layout: "BaseLayout",
    validatorUrl: "none",
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    requestInterceptor: withToken,
  });
})();
