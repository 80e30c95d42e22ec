import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useDeleteProject } from "../../../api/projects";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { chooseProject, chosenProject } from "../../../hooks/useProject";

export function DeleteProject({ project }: { project: string }) {
  const remove = useDeleteProject();
  const navigate = useNavigate();
  const leave = () => {
    if (chosenProject() === project) chooseProject(undefined);
    void navigate({ to: "/projects" });
  };
  const [opened, dialog] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Delete {project}
      </Button>
      <ConfirmByName
        opened={opened}
        onClose={dialog.close}
        title={`Delete ${project}?`}
        name={project}
        explanation="Only a project without datasets and jobs can be deleted."
        action="Delete it"
        onConfirm={() => remove.mutate(project, { onSuccess: leave })}
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}
