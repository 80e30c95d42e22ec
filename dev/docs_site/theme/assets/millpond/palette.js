// Before anything is painted: the colours chosen earlier, or those of the reader's system.
(() => {
  const chosen = window.__md_get("__palette")?.color;
  if (!chosen) return;
  if (chosen.media === "(prefers-color-scheme)") {
    const wanted = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
    const input = document.querySelector(`[data-md-color-media="(prefers-color-scheme: ${wanted})"]`);
    for (const part of ["media", "scheme", "primary", "accent"]) chosen[part] = input?.getAttribute(`data-md-color-${part}`);
  }
  for (const [part, value] of Object.entries(chosen)) document.body.setAttribute(`data-md-color-${part}`, value);
})();
