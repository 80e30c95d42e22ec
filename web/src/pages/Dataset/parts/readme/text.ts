/** Plain text out of what Markdown may hold besides Markdown. */

const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  "#39": "'",
};

/** Decode the common entities. React escapes the result when it is drawn. */
export function unescaped(text: string): string {
  return text.replace(/&(#39|[a-z]+);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}

/** The text between tags; scripts, styles and comments have none. */
export function textOfHtml(html: string): string {
  const visible = html
    .replace(/<!--[\s\S]*?(-->|$)/g, "")
    .replace(/<(script|style)\b[\s\S]*?(<\/\1\s*>|$)/gi, "");
  return unescaped(visible.replace(/<[^>]*>/g, "")).trim();
}

/** Dataset cards begin with YAML between two lines of dashes. */
export function withoutFrontMatter(text: string): string {
  return text.replace(/^\uFEFF?---\r?\n[\s\S]*?\r?\n---\r?\n/, "");
}
