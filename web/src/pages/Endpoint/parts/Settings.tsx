import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { useUpdateEndpoint } from "../../../api/endpoints";
import { useMay } from "../../../api/session";
import type { Endpoint } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { notifyDone } from "../../../components/notify";
import { Section } from "../../../components/Section";

/** The whole specification, to be read and changed; the server checks it. */
export function Settings({ endpoint }: { endpoint: Endpoint }) {
  const may = useMay(endpoint.project, "member");
  const update = useUpdateEndpoint({ project: endpoint.project, endpoint: endpoint.name });
  const [draft, setDraft] = useState<{ text: string; revision: number } | null>(null);
  const text = draft?.text ?? JSON.stringify(endpoint.spec, null, 2);
  const [problem, setProblem] = useState("");
  const save = () => {
    if (!draft) return;
    let spec: Record<string, unknown>;
    try {
      spec = JSON.parse(draft.text);
    } catch (error) {
      setProblem(`This is not JSON: ${error instanceof Error ? error.message : error}`);
      return;
    }
    setProblem("");
    update.mutate(
      { spec, revision: draft.revision },
      {
        onSuccess: ({ revision }) => {
          setDraft(null);
          notifyDone(`Saved as revision ${revision}.`);
        },
      },
    );
  };
  return (
    <Stack>
      <Section title="Specification" bare>
        <Text size="sm" c="dimmed" mb="xs">
          What endpoint.yaml says, as JSON. Saving makes a new revision; replicas are replaced one by one
          where needed.
        </Text>
        <Textarea
          aria-label="Specification"
          value={text}
          onChange={(event) =>
            setDraft({ text: event.currentTarget.value, revision: draft?.revision ?? endpoint.revision })
          }
          readOnly={!may}
          autosize
          minRows={12}
          maxRows={40}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        />
      </Section>
      {problem && <Text c="red">{problem}</Text>}
      {update.error && <ErrorNotice error={update.error} />}
      {may && draft && (
        <Group>
          <Button onClick={save} loading={update.isPending}>
            Save
          </Button>
          <Button variant="default" onClick={() => setDraft(null)}>
            Discard
          </Button>
        </Group>
      )}
      <CommandLine command={`mill endpoint show ${endpoint.name} --yaml > endpoint.yaml`} />
    </Stack>
  );
}
