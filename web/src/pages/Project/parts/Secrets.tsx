import { ActionIcon, Stack, Table, Text, Title } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { secretsQuery, useRemoveSecret } from "../../../api/secrets";
import type { Secret } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";
import { tell } from "../../../components/notify";
import { Time } from "../../../components/Time";
import { shellQuote } from "../../../lib/names";
import { SetSecret } from "./SetSecret";

interface Props {
  project: string;
  mayChange: boolean;
}

/** What the project's jobs may be given: names alone, for nobody reads the values. */
export function Secrets({ project, mayChange }: Props) {
  const result = useQuery(secretsQuery(project));
  return (
    <Stack component="section" aria-label={`Secrets of ${project}`}>
      <Title order={3} size="h5">
        Secrets
      </Title>
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <Text size="sm" c="dimmed">
              None. Keys and passwords that jobs need are kept here sealed, and shown to nobody.
            </Text>
          ) : (
            <SecretTable project={project} secrets={items} mayChange={mayChange} />
          )
        }
      </Loaded>
      {mayChange && <SetSecret project={project} />}
      <CommandLine
        command={`mill secret ${mayChange ? "set NAME" : "list"} --project ${shellQuote(project)}`}
      />
    </Stack>
  );
}

function SecretTable({ project, secrets, mayChange }: Props & { secrets: Secret[] }) {
  const remove = useRemoveSecret(project);
  return (
    <Table>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Secret</Table.Th>
          <Table.Th>Changed</Table.Th>
          <Table.Th>By</Table.Th>
          <Table.Th>{mayChange && "Actions"}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {secrets.map((secret) => (
          <Table.Tr key={secret.id}>
            <Table.Td className="mono">{secret.name}</Table.Td>
            <Table.Td>
              <Time at={secret.changed_at} />
            </Table.Td>
            <Table.Td>{secret.changed_by}</Table.Td>
            <Table.Td>
              {mayChange && (
                <ActionIcon
                  variant="default"
                  aria-label={`Remove ${secret.name}`}
                  loading={remove.isPending}
                  onClick={() => tell(remove.mutateAsync(secret.name))}
                >
                  <IconX size={14} />
                </ActionIcon>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
