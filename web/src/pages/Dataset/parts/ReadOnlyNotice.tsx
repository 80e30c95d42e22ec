import { Alert, Code, Text } from "@mantine/core";
import { IconLock } from "@tabler/icons-react";
import type { Dataset } from "../../../api/shapes";

/** Says why a dataset cannot be changed, and what an administrator types. */
export function ReadOnlyNotice({ dataset }: { dataset: Dataset }) {
  if (!dataset.read_only) return null;
  return (
    <Alert color="orange" icon={<IconLock />} mb="md" title="Read-only">
      <Text size="sm">Nothing can be committed here: {dataset.read_only}</Text>
      <Text size="sm" mt={4}>
        A site administrator brings it up to date with <Code>mill lake reconcile {dataset.project}</Code>
      </Text>
    </Alert>
  );
}
