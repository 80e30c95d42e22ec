import type { Workspace } from "../../../api/shapes";

export interface FamilyMember {
  workspace: Workspace;
  clones: FamilyMember[];
}

/** The tree of clones that a workspace belongs to: from the one that all came from, as far as it is still there. */
export function familyOf(all: readonly Workspace[], workspace: Workspace): FamilyMember {
  const byId = new Map(all.map((one) => [one.id, one]));
  let first = byId.get(workspace.id) ?? workspace;
  const seen = new Set([first.id]);
  for (;;) {
    const parent = byId.get(first.source.workspace_id);
    if (!parent || seen.has(parent.id)) break;
    seen.add(parent.id);
    first = parent;
  }
  return memberOf(all, first, new Set());
}

function memberOf(all: readonly Workspace[], workspace: Workspace, seen: Set<string>): FamilyMember {
  seen.add(workspace.id);
  const clones = all.filter((one) => one.source.workspace_id === workspace.id && !seen.has(one.id));
  return { workspace, clones: clones.map((one) => memberOf(all, one, seen)) };
}
