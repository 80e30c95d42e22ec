/** What happy-dom lacks and Mantine asks for; and a clean page after every test. */
import { cleanup } from "@testing-library/react";
import { afterEach, vi } from "vitest";

window.matchMedia ??= vi.fn().mockImplementation((query: string) => ({
  matches: false,
  media: query,
  addEventListener: () => {},
  removeEventListener: () => {},
}));

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});
