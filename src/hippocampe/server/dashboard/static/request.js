// Headers of requests that HTMX does not send: those of its own.
export const headers = () => ({ ...JSON.parse(document.body.getAttribute("hx-headers")), "HX-Request": "true" });

// The token of a page is refused after a restart of the server, or another login. Take the present one; return whether it
// is another one. A tab keeps its space.
const TOKEN = "X-CSRF-Token";
export async function renewed() {
  try {
    const login = await (await fetch("/login")).text();
    const page = new DOMParser().parseFromString(login, "text/html");
    const token = JSON.parse(page.body.getAttribute("hx-headers"))[TOKEN];
    const old = JSON.parse(document.body.getAttribute("hx-headers"));
    document.body.setAttribute("hx-headers", JSON.stringify({ ...old, [TOKEN]: token }));
    return token !== old[TOKEN];
  } catch {
    return false;
  }
}
