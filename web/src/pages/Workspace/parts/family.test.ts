import { expect, test } from "vitest";
import type { Workspace } from "../../../api/shapes";
import { type FamilyMember, familyOf } from "./family";

function made(id: string, parent = ""): Workspace {
  return { id, name: id, source: { workspace_id: parent } } as Workspace;
}

function names(member: FamilyMember): unknown {
  return member.clones.length ? [member.workspace.id, member.clones.map(names)] : member.workspace.id;
}

test("a clone of a clone is found from the first one on", () => {
  const all = [made("a"), made("b", "a"), made("c", "b"), made("d", "a"), made("other")];
  expect(names(familyOf(all, made("c", "b")))).toEqual(["a", [["b", ["c"]], "d"]]);
});

test("a parent that is gone ends the way up", () => {
  expect(names(familyOf([made("b", "gone")], made("b", "gone")))).toBe("b");
});

test("a circle ends", () => {
  const all = [made("a", "b"), made("b", "a")];
  expect(names(familyOf(all, made("a", "b")))).toEqual(["b", ["a"]]);
});
