import { expect, test } from "vitest";
import { pageLink } from "./pageLink";

test("a link of the server has a path and a search", () => {
  expect(pageLink("/sources?project=a%20b&tab=sources")).toEqual({
    to: "/sources",
    search: { project: "a b", tab: "sources" },
  });
  expect(pageLink("/projects/vision/jobs/abc")).toEqual({ to: "/projects/vision/jobs/abc", search: {} });
});
