/** What happy-dom lacks and Mantine asks for; and a clean page after every test. */
import { cleanup } from "@testing-library/react";
import { afterEach, vi } from "vitest";

window.matchMedia ??= vi.fn().mockImplementation((query: string) => ({
  matches: false,
  media: query,
  addEventListener: () => {},
  removeEventListener: () => {},
}));

// Fields that grow with their text measure again when fonts have come.
Object.defineProperty(document, "fonts", { value: new EventTarget(), configurable: true });

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});
