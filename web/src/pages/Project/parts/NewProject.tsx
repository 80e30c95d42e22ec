import { useCreateProject } from "../../../api/projects";
import { tellWarnings } from "./EditProject";
import { ProjectForm } from "./ProjectForm";
import { NO_SETTINGS, requestOf } from "./settings";

export function NewProject({ onClose }: { onClose: () => void }) {
  const create = useCreateProject();
  return (
    <ProjectForm
      before={NO_SETTINGS}
      busy={create.isPending}
      error={create.error}
      onClose={onClose}
      onSubmit={({ name, ...settings }) =>
        create.mutate(
          { name: name.trim(), ...requestOf(settings) },
          {
            onSuccess: (made) => {
              tellWarnings(made);
              onClose();
            },
          },
        )
      }
    />
  );
}
