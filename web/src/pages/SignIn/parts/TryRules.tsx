import { Alert, Button, Paper, Select, Stack, Table, Text, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useTryRules } from "../../../api/signIn";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Section } from "../../../components/Section";

const EXAMPLE = '{\n  "sub": "1",\n  "preferred_username": "ada",\n  "groups": ["data-team"]\n}';

/** What somebody with these claims would get, and why; nobody signs in. */
export function TryRules({ providers }: { providers: string[] }) {
  const tried = useTryRules();
  const form = useForm({
    initialValues: { provider: providers[0] ?? "", claims: EXAMPLE },
    validate: { claims: (text) => (claimsOf(text) ? null : "Write a JSON object.") },
  });
  const submit = form.onSubmit(({ provider, claims }) =>
    tried.mutate({ provider, claims: claimsOf(claims) ?? {} }),
  );
  return (
    <Section title="Try the rules" bare>
      <Paper withBorder p="md">
        <form onSubmit={submit}>
          <Stack>
            <Select
              label="Provider"
              data={providers}
              allowDeselect={false}
              w={240}
              {...form.getInputProps("provider")}
            />
            <Textarea
              label="Claims"
              description="Of an ID token. For a directory: username and groups."
              autosize
              minRows={4}
              maxRows={16}
              styles={{ input: { fontFamily: "monospace" } }}
              {...form.getInputProps("claims")}
            />
            <Button type="submit" variant="light" loading={tried.isPending} style={{ alignSelf: "start" }}>
              Try
            </Button>
            {tried.error && <ErrorNotice error={tried.error} />}
            {tried.data && <Outcome result={tried.data} />}
          </Stack>
        </form>
      </Paper>
    </Section>
  );
}

type Tried = NonNullable<ReturnType<typeof useTryRules>["data"]>;

function Outcome({ result }: { result: Tried }) {
  if (result.refused) {
    return (
      <Alert role="status" color="orange" title="They would not be let in.">
        {result.refused}
      </Alert>
    );
  }
  return (
    <div role="status">
      <Text size="sm">
        {result.name} would sign in as {result.user ?? "a new user"}.{" "}
        {result.reasons.length === 0 && "No rule fits: they would get no role."}
      </Text>
      {result.reasons.length > 0 && (
        <Table aria-label="What the rules give">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Project</Table.Th>
              <Table.Th>Role now</Table.Th>
              <Table.Th>Role then</Table.Th>
              <Table.Th>Why</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {result.reasons.map((one) => (
              <Table.Tr key={`${one.project} ${one.text}`}>
                <Table.Td>{one.project ?? "(site)"}</Table.Td>
                <Table.Td>{one.before ?? "–"}</Table.Td>
                <Table.Td>{one.after ?? "–"}</Table.Td>
                <Table.Td>{one.text}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </div>
  );
}

function claimsOf(text: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null && !Array.isArray(found)
      ? (found as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
