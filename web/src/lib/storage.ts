/** Choices kept in this browser only. Storage may be forbidden or full: then a choice lasts as long as the page. */

export function readChoice(name: string): string | null {
  try {
    return window.localStorage.getItem(`millpond.${name}`);
  } catch {
    return null;
  }
}

export function writeChoice(name: string, value: string): void {
  try {
    window.localStorage.setItem(`millpond.${name}`, value);
  } catch {
    // The choice is simply not remembered.
  }
}
