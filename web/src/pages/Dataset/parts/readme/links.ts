/** Where links and images of a README lead. Anything but the dataset's own files and plain web links leads nowhere. */

export type Target =
  | { kind: "file"; path: string }
  | { kind: "folder"; path: string }
  | { kind: "web"; href: string }
  | { kind: "none" };

/** Resolve `href` as written in a file of `folder`. */
export function targetOf(href: string, folder: string): Target {
  if (/^(https?:\/\/|mailto:)/i.test(href)) return { kind: "web", href };
  if (/^([a-z][a-z0-9+.-]*:|\/\/|#|\\)/i.test(href)) return { kind: "none" };
  const written = decoded(href.replace(/[?#].*$/s, ""));
  const path = written === null ? null : resolved(written, folder);
  if (path === null || written === "") return { kind: "none" };
  return { kind: path === "" || /(^|\/)\.{0,2}$/.test(written ?? "") ? "folder" : "file", path };
}

/** The path from the dataset's root; null if it would leave the dataset. */
function resolved(written: string, folder: string): string | null {
  const parts = written.startsWith("/") ? [] : folder.split("/").filter(Boolean);
  for (const part of written.split("/")) {
    if (part === "..") {
      if (parts.pop() === undefined) return null;
    } else if (part && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
