// An element with attributes and children; what is false or nothing is left out. Text stays text.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== undefined && child !== null && child !== false && child !== ""));
  return made;
}
