/** YAML documents of the texts that are worked with at the moment: each is parsed once, since large ones take a while. */
import { type Document, parseDocument } from "yaml";

const KEPT = 4;
const known = new Map<string, Document.Parsed>();

/** The document of a text. It is shared: look at it, never change it. */
export function parsed(text: string): Document.Parsed {
  const found = known.get(text) ?? parseDocument(text);
  known.delete(text);
  known.set(text, found);
  if (known.size > KEPT) known.delete(known.keys().next().value as string);
  return found;
}
