import { Button, Group, Paper, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useMay } from "../../../api/session";
import type { Workspace } from "../../../api/shapes";
import { useChangeWorkspace, workspaceWhyQuery } from "../../../api/workspaces";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Loaded } from "../../../components/Loaded";
import { notifyDone } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { formatBytes } from "../../../lib/quantity";
import { readBytes } from "./bytes";
import { Schedules } from "./Schedules";

export function WorkspaceSettings({ workspace }: { workspace: Workspace }) {
  const may = useMay(workspace.project, "member") && workspace.usable;
  return (
    <Stack gap="xl">
      <Schedules workspace={workspace} may={may} />
      <Size workspace={workspace} may={may} />
      <Sharing workspace={workspace} may={may} />
      <Reasons workspace={workspace} />
    </Stack>
  );
}

interface Props {
  workspace: Workspace;
  may: boolean;
}

function Size({ workspace, may }: Props) {
  const change = useChangeWorkspace({ project: workspace.project, workspace: workspace.name });
  const [text, setText] = useState(formatBytes(workspace.size_bytes));
  const bytes = readBytes(text);
  return (
    <Section title="Size" bare>
      <Group align="flex-end">
        <TextInput
          label="What it may take"
          description={ENFORCED[workspace.quota] ?? ENFORCED.measured}
          value={text}
          disabled={!may}
          error={bytes === null && "Write a size like 20GB."}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button
          disabled={!may || bytes === null || bytes === workspace.size_bytes}
          loading={change.isPending}
          onClick={() =>
            bytes !== null &&
            change.mutate(
              { size_bytes: bytes },
              { onSuccess: (now) => notifyDone(`${now.name} may take ${formatBytes(now.size_bytes)} now.`) },
            )
          }
        >
          Resize
        </Button>
      </Group>
      {change.error && <ErrorNotice error={change.error} />}
    </Section>
  );
}

const ENFORCED: Readonly<Record<string, string>> = {
  qgroup: "The file system refuses to write more.",
  project: "The file system refuses to write more.",
  claim: "Its storage has no more room. A claim grows where its class allows that, and never shrinks.",
  measured: "Measured from time to time: a job that exceeds it is stopped.",
};

function Sharing({ workspace, may }: Props) {
  const change = useChangeWorkspace({ project: workspace.project, workspace: workspace.name });
  return (
    <Section title="Sharing" bare>
      <Switch
        label={`Everybody in ${workspace.project} may read and write it`}
        checked={workspace.shared}
        disabled={!may || change.isPending}
        onChange={(event) => change.mutate({ shared: event.currentTarget.checked })}
      />
      {change.error && <ErrorNotice error={change.error} />}
    </Section>
  );
}

function Reasons({ workspace }: { workspace: Workspace }) {
  const result = useQuery(workspaceWhyQuery({ project: workspace.project, workspace: workspace.name }));
  return (
    <Section title="Why it is as it is" bare>
      <Loaded result={result}>
        {({ reasons }) => (
          <Paper withBorder p="sm">
            {reasons.map((reason) => (
              <Text key={reason} size="sm">
                {reason}
              </Text>
            ))}
          </Paper>
        )}
      </Loaded>
    </Section>
  );
}
