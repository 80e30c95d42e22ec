import { Badge, Tooltip } from "@mantine/core";
import { IconWorld } from "@tabler/icons-react";
import type { Commit } from "../../../api/shapes";

/** Says of a file that the lake knows where its content lies, and does not hold it. */
export function OutsideBadge() {
  return (
    <Mark label="Stored outside the lake. Readable only while the original stays unchanged.">outside</Mark>
  );
}

/** Says of a commit through which connections some of its files are read; nothing for one that the lake holds. */
export function OutsideOf({ commit }: { commit: Commit }) {
  const names = connectionsOf(commit);
  if (names.length === 0) return null;
  const which = names.length === 1 ? `the connection ${names[0]}` : `the connections ${names.join(", ")}`;
  return (
    <Mark
      label={`Some files are stored outside the lake, behind ${which}. Readable only while the originals stay unchanged.`}
    >
      outside: {names.join(", ")}
    </Mark>
  );
}

function Mark({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <Tooltip label={label} multiline w={280} events={{ hover: true, focus: true, touch: true }}>
      <Badge
        variant="outline"
        color="gray"
        tt="none"
        tabIndex={0}
        leftSection={<IconWorld size={12} aria-hidden />}
        style={{ flexShrink: 0 }}
        data-testid="outside"
      >
        {children}
      </Badge>
    </Tooltip>
  );
}

/** The server notes them in the lineage of every commit that has such files. */
function connectionsOf(commit: Commit): string[] {
  const names = commit.lineage.external;
  return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
}
