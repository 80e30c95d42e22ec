import { Button, Modal, Stack, Text, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconExternalLink } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { Workspace } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { shellQuote } from "../../../lib/names";

/** To the job that has it open, or how to open it. */
export function OpenButton({ workspace, compact = false }: { workspace: Workspace; compact?: boolean }) {
  const [opened, dialog] = useDisclosure(false);
  const [job] = workspace.jobs;
  const look = {
    size: compact ? "compact-xs" : "sm",
    variant: compact ? "default" : "filled",
    leftSection: <IconExternalLink size={14} aria-hidden />,
  } as const;
  if (job)
    return (
      <Tooltip label={`Job ${job.name} has it open`}>
        <Button
          {...look}
          component={Link}
          to={`/projects/${workspace.project}/jobs/${job.id}`}
          aria-label={`Go to the job of ${workspace.name}`}
        >
          Go to job
        </Button>
      </Tooltip>
    );
  if (!workspace.usable || workspace.state !== "ready") return null;
  return (
    <>
      <Button {...look} onClick={dialog.open} aria-label={`Open ${workspace.name}`}>
        Open
      </Button>
      <Modal
        opened={opened}
        onClose={dialog.close}
        title={`Open ${workspace.name}`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack gap="xs">
          <Text size="sm">JupyterLab, with the workspace as its home:</Text>
          <CommandLine command={`mill workspace open ${shellQuote(workspace.name)} --lab`} />
          <Text size="sm">A shell:</Text>
          <CommandLine command={`mill workspace open ${shellQuote(workspace.name)} --shell`} />
          <Text size="sm">In a job of your own:</Text>
          <CommandLine
            command={`mill submit --workspace ${shellQuote(workspace.name)}:/workspace -- python train.py`}
          />
        </Stack>
      </Modal>
    </>
  );
}
