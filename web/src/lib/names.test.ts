import { expect, it } from "vitest";
import { initials, shellLine, splitWritten, visibleName } from "./names";

it("makes initials of user names", () => {
  expect(["mary.vale", "dan", "Jo Ann Smith", ""].map(initials)).toEqual(["MV", "D", "JA", ""]);
});

it("quotes only what a shell would misread", () => {
  expect(shellLine(["python", "-c", "print('a b')", "--lr=0.1"])).toBe(
    `python -c 'print('\\''a b'\\'')' --lr=0.1`,
  );
});

it("splits a written name at its first slash", () => {
  expect(splitWritten("team-a/xray")).toEqual({ project: "team-a", name: "xray" });
});

it("shows what cannot be seen in a name", () => {
  expect(visibleName("line\nbreak\t\u007f ünïcode 名前")).toBe("line␊break␉␡ ünïcode 名前");
});
