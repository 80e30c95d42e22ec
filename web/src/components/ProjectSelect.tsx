import { Button } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { chooseProject } from "../hooks/useProject";

interface Props {
  value: string | undefined;
  onChange: (project: undefined) => void;
}

/** Says that a list shows one project only, and shows all again. The top bar chooses which. */
export function ProjectSelect({ value, onChange }: Props) {
  if (!value) return null;
  const showAll = () => {
    chooseProject(undefined);
    onChange(undefined);
  };
  return (
    <Button
      variant="light"
      rightSection={<IconX size={14} aria-hidden />}
      aria-label={`Project ${value}: show all projects`}
      onClick={showAll}
    >
      Project: {value}
    </Button>
  );
}
