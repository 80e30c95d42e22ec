/** A command as somebody types it, taken apart as a shell would. */

const SPECIAL = /[|&;<>()$`*?#~\n{}[\]]/;

/**
 * The words of a command. What needs a shell (pipes, variables, patterns, several lines) is given to one.
 * Null when a quotation mark is not closed.
 */
export function commandWords(line: string): string[] | null {
  const text = line.trim();
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  let needsShell = false;
  for (let place = 0; place < text.length; place++) {
    const letter = text.charAt(place);
    if (quote) {
      if (letter === quote) quote = "";
      else word += letter;
      needsShell ||= quote === '"' && /[$`\\]/.test(letter);
    } else if (letter === "'" || letter === '"') {
      quote = letter;
      word ??= "";
    } else if (letter === " " || letter === "\t") {
      if (word !== null) words.push(word);
      word = null;
    } else {
      needsShell ||= SPECIAL.test(letter) || letter === "\\";
      word = (word ?? "") + letter;
    }
  }
  if (quote) return null;
  if (word !== null) words.push(word);
  return needsShell ? ["sh", "-c", text] : words;
}
