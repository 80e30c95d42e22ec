import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { useClipboard, useDisclosure } from "@mantine/hooks";
import {
  IconCopy,
  IconDots,
  IconHash,
  IconPencil,
  IconPlayerPause,
  IconTerminal2,
  IconTrash,
} from "@tabler/icons-react";
import { useSuspendJob } from "../../../api/jobs";
import type { Job } from "../../../api/shapes";
import { notifyDone, tell } from "../../../components/notify";
import { commandLineOf, draftOf } from "../../Job/parts/draft";
import { NewJob } from "../../Job/parts/NewJob";
import { isFinished } from "../../Job/parts/states";
import type { Recorded } from "../tabs";
import { RenameRun } from "./RenameRun";

interface Props extends Recorded {
  /** The viewer may change it. */
  may: boolean;
  onDelete: () => void;
}

export function RunMenu({ run, job, may, onDelete }: Props) {
  const clipboard = useClipboard();
  const [cloning, clone] = useDisclosure(false);
  const [renaming, rename] = useDisclosure(false);
  const copy = (text: string, what: string) => {
    clipboard.copy(text);
    notifyDone(`${what} copied.`);
  };
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Tooltip label="More actions">
            <ActionIcon variant="default" size={36} aria-label="More actions">
              <IconDots size={18} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          {may && job && <Suspend job={job} />}
          {may && job && (
            <Menu.Item leftSection={<IconCopy size={16} aria-hidden />} onClick={clone.open}>
              Clone and edit
            </Menu.Item>
          )}
          {may && (
            <Menu.Item leftSection={<IconPencil size={16} aria-hidden />} onClick={rename.open}>
              Rename
            </Menu.Item>
          )}
          <Menu.Item
            leftSection={<IconTerminal2 size={16} aria-hidden />}
            onClick={() => copy(cliOf({ run, job }), "Command")}
          >
            Copy as CLI
          </Menu.Item>
          <Menu.Item leftSection={<IconHash size={16} aria-hidden />} onClick={() => copy(run.id, "Run id")}>
            Copy run id
          </Menu.Item>
          {may && <Menu.Divider />}
          {may && (
            <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={onDelete}>
              Delete
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {cloning && job && <NewJob draft={draftOf(job)} onClose={clone.close} />}
      {renaming && <RenameRun run={run} onClose={rename.close} />}
    </>
  );
}

/** The command that submits the job once more, or shows the run of a script. */
function cliOf({ run, job }: Recorded): string {
  return job ? commandLineOf(draftOf(job), false) : `mill run show ${run.id}`;
}

function Suspend({ job }: { job: Job }) {
  const suspend = useSuspendJob();
  if (job.suspended_at || isFinished(job.state)) return null;
  return (
    <Menu.Item
      leftSection={<IconPlayerPause size={16} aria-hidden />}
      onClick={() => tell(suspend.mutateAsync({ project: job.project, job: job.id }))}
    >
      Suspend
    </Menu.Item>
  );
}
