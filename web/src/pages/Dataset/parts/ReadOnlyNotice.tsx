import { Alert, Code, Text } from "@mantine/core";
import { IconLock } from "@tabler/icons-react";
import type { Dataset } from "../../../api/shapes";

/** Says why a dataset cannot be changed, and what an administrator types. */
export function ReadOnlyNotice({ dataset }: { dataset: Dataset }) {
  if (!dataset.read_only) return null;
  return (
    <Alert color="orange" icon={<IconLock />} mb="md" title="Read-only">
      <Text size="sm">Commits are refused: {dataset.read_only}</Text>
      <Text size="sm" mt={4}>
        Ask a site administrator to run <Code>mill lake reconcile {dataset.project}</Code>
      </Text>
    </Alert>
  );
}
