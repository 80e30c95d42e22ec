import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useDeleteProject } from "../../api/projects";
import { ConfirmByName } from "../../components/ConfirmByName";

export function DeleteProject({ project }: { project: string }) {
  const remove = useDeleteProject();
  const [opened, dialog] = useDisclosure(false);
  return (
    <>
      <Button mt="md" size="xs" color="red.9" variant="filled" onClick={dialog.open}>
        Delete {project}
      </Button>
      <ConfirmByName
        opened={opened}
        onClose={dialog.close}
        title={`Delete ${project}?`}
        name={project}
        explanation="A project that still has datasets or jobs is kept; the answer says which."
        action="Delete it"
        onConfirm={() => remove.mutate(project, { onSuccess: dialog.close })}
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}
