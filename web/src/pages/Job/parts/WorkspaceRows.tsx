import {
  ActionIcon,
  Checkbox,
  Group,
  Input,
  NumberInput,
  Select,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { itemsOf } from "../../../api/paging";
import { workspacesQuery } from "../../../api/workspaces";
import { NO_SNAPSHOTS, partsOf, type SnapshotChoice, writeParts } from "./jobWorkspaces";

interface Props {
  project: string;
  /** As the command line takes them: `NAME:/path`, `NAME:/path:ro`. */
  workspaces: readonly string[];
  snapshots: SnapshotChoice;
  error?: React.ReactNode;
  onChange: (workspaces: string[], snapshots: SnapshotChoice) => void;
}

/** The workspaces a job may write to, where it finds them, and when snapshots of them are taken for its run. */
export function WorkspaceRows({ project, workspaces, snapshots, error, onChange }: Props) {
  const found = itemsOf(useInfiniteQuery(workspacesQuery({ project })).data);
  const usable = found.filter((one) => one.usable && one.state !== "failed" && one.state !== "removing");
  const used = workspaces.map((written) => partsOf(written).workspace);
  const free = usable.filter((one) => !used.includes(one.name));
  if (usable.length === 0 && workspaces.length === 0) return null;
  const replaced = (place: number, written: string | null) => {
    const left = workspaces.flatMap((one, other) => (other === place ? (written ? [written] : []) : [one]));
    onChange(left, left.length > 0 ? snapshots : NO_SNAPSHOTS);
  };
  return (
    <Stack gap={6} role="group" aria-label="Workspaces">
      <div>
        <Input.Label>Workspaces</Input.Label>
        <Input.Description>
          Folders to write to: at the path in a container, and where $MILL_WORKSPACE_&lt;NAME&gt; says
          everywhere.
        </Input.Description>
      </div>
      {workspaces.map((written, place) => (
        <Row key={place} written={written} onChange={(changed) => replaced(place, changed)} />
      ))}
      {error && <Input.Error>{error}</Input.Error>}
      <Select
        aria-label="Add a workspace"
        placeholder={workspaces.length > 0 ? "Add another workspace" : "Add a workspace"}
        searchable
        limit={50}
        data={free.map((one) => ({ value: one.name, label: `${one.name} (${one.site})` }))}
        nothingFoundMessage="No other workspace"
        value={null}
        onChange={(name) => name && onChange([...workspaces, `${name}:/${targetOf(workspaces)}`], snapshots)}
      />
      {workspaces.length > 0 && (
        <Snapshots choice={snapshots} onChange={(choice) => onChange([...workspaces], choice)} />
      )}
    </Stack>
  );
}

interface RowProps {
  written: string;
  onChange: (written: string | null) => void;
}

function Row({ written, onChange }: RowProps) {
  const parts = partsOf(written);
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="sm" fw={600} flex={1} truncate title={parts.workspace}>
        {parts.workspace}
      </Text>
      <TextInput
        flex={2}
        aria-label={`Path of ${parts.workspace}`}
        autoComplete="off"
        classNames={{ input: "mono" }}
        value={parts.target}
        // A colon would end the path.
        onChange={(event) =>
          onChange(writeParts({ ...parts, target: event.currentTarget.value.replace(/:/g, "") }))
        }
      />
      <Checkbox
        label="Read only"
        checked={parts.readOnly}
        onChange={(event) => onChange(writeParts({ ...parts, readOnly: event.currentTarget.checked }))}
      />
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Remove ${parts.workspace}`}
        onClick={() => onChange(null)}
      >
        <IconX size={16} />
      </ActionIcon>
    </Group>
  );
}

interface SnapshotProps {
  choice: SnapshotChoice;
  onChange: (choice: SnapshotChoice) => void;
}

function Snapshots({ choice, onChange }: SnapshotProps) {
  return (
    <Group gap="md" align="flex-end" role="group" aria-label="Snapshots for the run">
      <Checkbox
        mb={8}
        label="Snapshot at the start"
        checked={choice.start}
        onChange={(event) => onChange({ ...choice, start: event.currentTarget.checked })}
      />
      <Checkbox
        mb={8}
        label="Snapshot at the end"
        checked={choice.end}
        onChange={(event) => onChange({ ...choice, end: event.currentTarget.checked })}
      />
      <NumberInput
        w={190}
        size="xs"
        label="Snapshot every (minutes)"
        placeholder="never"
        min={0}
        value={choice.everyMinutes}
        onChange={(everyMinutes) => onChange({ ...choice, everyMinutes })}
      />
    </Group>
  );
}

/** `workspace`, or one that is not taken yet. */
function targetOf(workspaces: readonly string[]): string {
  const taken = workspaces.map((written) => partsOf(written).target);
  const names = ["workspace", ...taken.map((_, place) => `workspace-${place + 2}`)];
  return names.find((name) => !taken.includes(`/${name}`)) ?? "workspace";
}
