import { ActionIcon, Button, Menu, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  IconCopy,
  IconDots,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconTrash,
} from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useChangeSearch, useDeleteSearch } from "../../../api/searches";
import { useMay } from "../../../api/session";
import type { Search } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone, tell } from "../../../components/notify";
import { NewSearchButton } from "./NewSearch";
import { draftOf } from "./searchDraft";

/** Pause, resume, cancel, start a similar one, delete; as far as the viewer may. */
export function SearchActions({ search }: { search: Search }) {
  const may = useMay(search.project, "member");
  const change = useChangeSearch({ project: search.project, search: search.id });
  if (!may) return null;
  const act = (verb: "pause" | "resume" | "cancel", done: string) => () =>
    tell(change.mutateAsync(verb), () => notifyDone(`${search.name} is ${done}.`));
  return (
    <>
      {search.state === "running" && (
        <Button
          variant="default"
          leftSection={<IconPlayerPause size={16} aria-hidden />}
          loading={change.isPending && change.variables === "pause"}
          onClick={act("pause", "paused")}
        >
          Pause
        </Button>
      )}
      {search.state === "paused" && (
        <Button
          leftSection={<IconPlayerPlay size={16} aria-hidden />}
          loading={change.isPending && change.variables === "resume"}
          onClick={act("resume", "running")}
        >
          Resume
        </Button>
      )}
      {!search.ended_at && (
        <Button
          variant="default"
          leftSection={<IconPlayerStop size={16} aria-hidden />}
          loading={change.isPending && change.variables === "cancel"}
          onClick={act("cancel", "cancelled")}
        >
          Cancel
        </Button>
      )}
      <NewSearchButton
        project={search.project}
        draft={draftOf(search)}
        variant="default"
        icon={<IconCopy size={16} aria-hidden />}
      >
        New search from this
      </NewSearchButton>
      {search.ended_at && <More search={search} />}
    </>
  );
}

function More({ search }: { search: Search }) {
  const [asking, ask] = useDisclosure(false);
  const remove = useDeleteSearch();
  const navigate = useNavigate();
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
          <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={ask.open}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmByName
        opened={asking}
        onClose={ask.close}
        title={`Delete ${search.name}?`}
        name={search.name}
        explanation="Deletes the record of the search and its trials. Its jobs and runs stay."
        action="Delete"
        onConfirm={() =>
          remove.mutate(
            { project: search.project, search: search.id },
            { onSuccess: () => void navigate({ to: "/searches", search: { project: search.project } }) },
          )
        }
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}
