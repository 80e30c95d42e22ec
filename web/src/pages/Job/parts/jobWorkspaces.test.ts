import { expect, it } from "vitest";
import {
  momentsOf,
  NO_SNAPSHOTS,
  snapshotsOf,
  workspaceOf,
  workspacesProblem,
  writeMoments,
} from "./jobWorkspaces";

it("reads what the command line takes", () => {
  expect(workspaceOf("notes:/mnt:ro")).toEqual({
    workspace: "notes",
    target: "/mnt",
    read_only: true,
    home: false,
    id: "",
    volume_id: "",
  });
});

it("wants an absolute path for each, and none twice", () => {
  expect(workspacesProblem(["notes:/a", "other:/b"])).toBeNull();
  expect(workspacesProblem(["notes:"])).toMatch("Write a path like /workspace for notes");
  expect(workspacesProblem(["notes:/a", "other:/a"])).toMatch("the same path: /a");
});

it("takes snapshots when asked to, and says so as --snapshot does", () => {
  expect(momentsOf(NO_SNAPSHOTS)).toBeNull();
  expect(writeMoments(NO_SNAPSHOTS)).toBe("");
  const choice = { start: true, end: true, everyMinutes: 30 };
  expect(momentsOf(choice)).toEqual({ start: true, end: true, every_seconds: 1800 });
  expect(writeMoments(choice)).toBe("start,end,every=30m");
  expect(writeMoments({ ...NO_SNAPSHOTS, everyMinutes: 0.5 })).toBe("every=30s");
  expect(snapshotsOf(momentsOf(choice))).toEqual(choice);
});
