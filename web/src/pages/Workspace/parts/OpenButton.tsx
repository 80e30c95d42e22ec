import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconExternalLink } from "@tabler/icons-react";
import { useMay } from "../../../api/session";
import type { Workspace } from "../../../api/shapes";
import { OpenWorkspace } from "./OpenWorkspace";

/** Opens it in JupyterLab, code-server or a shell; for those who may have what is in it. */
export function OpenButton({ workspace, compact = false }: { workspace: Workspace; compact?: boolean }) {
  const may = useMay(workspace.project, "member");
  const [opened, dialog] = useDisclosure(false);
  if (!may || !workspace.usable || workspace.state !== "ready") return null;
  return (
    <>
      <Button
        size={compact ? "compact-xs" : "sm"}
        variant={compact ? "default" : "filled"}
        leftSection={<IconExternalLink size={14} aria-hidden />}
        onClick={dialog.open}
        aria-label={`Open ${workspace.name}`}
      >
        Open
      </Button>
      {opened && <OpenWorkspace workspace={workspace} onClose={dialog.close} />}
    </>
  );
}
