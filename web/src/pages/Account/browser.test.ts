import { expect, it } from "vitest";
import { browserOf } from "./browser";

it("names browsers as people do", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36";
  expect(browserOf(chrome)).toBe("Chrome on Linux");
  expect(browserOf(`${chrome} Edg/141.0`)).toBe("Edge on Linux");
  expect(browserOf("Mozilla/5.0 (Macintosh; Intel Mac OS X 14.1; rv:144.0) Firefox/144.0")).toBe(
    "Firefox on macOS",
  );
  expect(browserOf("curl/8.0")).toBe("curl/8.0");
  expect(browserOf(null)).toBe("unknown");
});
