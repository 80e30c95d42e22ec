import { Button, type ButtonProps } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil } from "@tabler/icons-react";
import { useChangeProject } from "../../../api/projects";
import { useSession } from "../../../api/session";
import type { Project } from "../../../api/shapes";
import { notifyWarning } from "../../../components/notify";
import { ProjectForm } from "./ProjectForm";
import { requestOf, settingsOf } from "./settings";

interface Props extends Pick<ButtonProps, "size"> {
  project: Project;
}

/** For site administrators: they set quotas. */
export function EditProject({ project, size }: Props) {
  const isAdmin = useSession()?.user.is_admin ?? false;
  const [editing, dialog] = useDisclosure(false);
  if (!isAdmin) return null;
  return (
    <>
      <Button
        variant="default"
        size={size}
        leftSection={<IconPencil size={14} aria-hidden />}
        aria-label={`Edit ${project.name}`}
        onClick={dialog.open}
      >
        Edit
      </Button>
      {editing && <Editor project={project} onClose={dialog.close} />}
    </>
  );
}

function Editor({ project, onClose }: { project: Project; onClose: () => void }) {
  const change = useChangeProject(project.name);
  return (
    <ProjectForm
      name={project.name}
      before={settingsOf(project)}
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onSubmit={({ name: _, ...settings }) =>
        change.mutate(requestOf(settings), {
          onSuccess: (changed) => {
            tellWarnings(changed);
            onClose();
          },
        })
      }
    />
  );
}

/** What a change has led to, such as quotas that add up to more than there is. */
export function tellWarnings({ warnings }: Project): void {
  for (const warning of warnings ?? []) notifyWarning(warning);
}
