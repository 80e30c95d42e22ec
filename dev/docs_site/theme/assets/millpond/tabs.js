// A link to a tab opens it.
(() => {
  const input = document.getElementById(location.hash.slice(1));
  if (input?.name?.startsWith("__tabbed_")) input.checked = true;
})();
