import { expect, it } from "vitest";
import { count, flag, oneOf, ownPath, text } from "./search";

it("leaves out what is not right", () => {
  expect(text({ search: 12 }, "search")).toBe("12");
  expect(text({ search: { a: 1 } }, "search")).toBeUndefined();
  expect(flag({ deleted: "true" }, "deleted")).toBe(true);
  expect(flag({ deleted: "no" }, "deleted")).toBeUndefined();
  expect([{ page: 3 }, { page: "3" }].map((raw) => count(raw, "page"))).toEqual([3, 3]);
  for (const page of [0, -1, 1.5, "x", "", null]) expect(count({ page }, "page")).toBeUndefined();
  expect(oneOf({ tab: "evil" }, "tab", ["files", "commits"])).toBeUndefined();
});

it("goes after signing in only to a path of its own", () => {
  expect(ownPath({ next: "/jobs?mine=true" }, "next")).toBe("/jobs?mine=true");
  for (const next of ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"]) {
    expect(ownPath({ next }, "next")).toBeUndefined();
  }
});
