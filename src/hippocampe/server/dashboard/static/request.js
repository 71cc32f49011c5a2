// Headers of requests that HTMX does not send: those of its own.
export const headers = () => ({ ...JSON.parse(document.body.getAttribute("hx-headers")), "HX-Request": "true" });
