// Sets the colour scheme before the first paint, so that a dark page never flashes white.
// A file of its own because the server's content security policy allows no inline scripts.
(() => {
  const chosen = window.localStorage.getItem("mantine-color-scheme-value") ?? "auto";
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const scheme = chosen === "auto" ? (dark ? "dark" : "light") : chosen;
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
})();
