import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconRepeat } from "@tabler/icons-react";
import { useMay, useMemberProjects } from "../../../api/session";
import type { Job } from "../../../api/shapes";
import { draftOf, emptyDraft } from "./draft";
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

/** Opens the form with everything the job had. */
export function RunAgainButton({ job }: { job: Job }) {
  const [opened, dialog] = useDisclosure(false);
  if (!useMay(job.project, "member")) return null;
  return (
    <>
      <Button variant="default" leftSection={<IconRepeat size={16} aria-hidden />} onClick={dialog.open}>
        Run again
      </Button>
      {opened && <NewJob draft={draftOf(job)} onClose={dialog.close} />}
    </>
  );
}
