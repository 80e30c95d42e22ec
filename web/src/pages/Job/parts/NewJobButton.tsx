import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useMemberProjects } from "../../../api/session";
import { emptyDraft } from "./draft";
import { NewJob } from "./NewJob";

/** For those who may submit in some project; `project` is the one the list is narrowed to. */
export function NewJobButton({ project }: { project?: string }) {
  const [opened, dialog] = useDisclosure(false);
  const projects = useMemberProjects();
  const first = project && projects.includes(project) ? project : projects[0];
  if (first === undefined) return null;
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
        New job
      </Button>
      {opened && <NewJob draft={emptyDraft(first)} onClose={dialog.close} />}
    </>
  );
}
