import { Code, Stack, Text } from "@mantine/core";
import { ApiError } from "../../../api/problem";
import { ErrorNotice } from "../../../components/ErrorNotice";

/** An error of a merge or a revert; of a conflict, every path that both sides changed, and how. */
export function ConflictNotice({ error }: { error: unknown }) {
  const conflicts = conflictsOf(error);
  return (
    <Stack gap="xs">
      <ErrorNotice error={error} />
      {conflicts.length > 0 && (
        <>
          <Text size="sm" fw={600}>
            Changed on both sides
          </Text>
          <Code block mah={240} style={{ overflow: "auto" }} tabIndex={0} data-testid="conflicts">
            {conflicts.join("\n")}
          </Code>
        </>
      )}
    </Stack>
  );
}

function conflictsOf(error: unknown): string[] {
  if (!(error instanceof ApiError) || error.code !== "merge_conflict") return [];
  const { conflicts } = error.details;
  return Array.isArray(conflicts) ? conflicts.map(String) : [];
}
