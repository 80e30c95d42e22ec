import {
  Alert,
  Button,
  Checkbox,
  Code,
  Group,
  List,
  Modal,
  Select,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { IconAlertTriangle, IconUpload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { refsQuery } from "../../../api/datasets";
import { useSession } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { uploads } from "../../../hooks/useUploads";
import { formatBytes, plural } from "../../../lib/quantity";
import type { Item } from "../../../lib/upload/sending";
import { forgetUnfinished, type Unfinished } from "../../../lib/upload/unfinished";
import { folderOf, messageFor, type Plan, planUpload, uploadCommand } from "./plan";

interface Props {
  dataset: Dataset;
  items: Item[];
  /** The interrupted upload that these files are to finish. */
  again: Unfinished | undefined;
  branch: string;
  path: string;
  onClose: () => void;
}

/** Says what will be put where, and begins. */
export function UploadDialog({ dataset, items, again, branch, path, onClose }: Props) {
  const place = { project: dataset.project, dataset: dataset.name };
  const branches = (useQuery(refsQuery(place)).data?.items ?? []).filter((ref) => ref.type === "branch");
  const by = useSession()?.user.name ?? "";
  const folder = useMemo(() => folderOf(items), [items]);
  const [target, setTarget] = useState(again?.branch ?? branch);
  const [into, setInto] = useState(again?.into ?? path);
  // A dataset begins as the folder itself; later a folder comes beside what is there.
  const [keepFolder, setKeepFolder] = useState(again?.keepFolder ?? dataset.head !== null);
  const [written, setWritten] = useState(again?.message);
  const plan = useMemo(() => planUpload(items, { into, keepFolder }), [items, into, keepFolder]);
  const message = written ?? messageFor(items, plan.files);
  const names = branches.length > 0 ? branches.map((ref) => ref.name) : [dataset.default_branch];

  const start = () => {
    if (again) forgetUnfinished(again.id);
    const at = new Date().toISOString();
    const { files, bytes } = plan;
    const choice = { branch: target, into, keepFolder, message };
    uploads.start({ id: newId(), by, ...place, ...choice, files, bytes, at }, plan.items);
    onClose();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={again ? "Resume upload" : "Upload"}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Text data-testid="upload-sum">
          {plural(plan.files, "file")}, {formatBytes(plan.bytes)}
          {folder && ` from the folder ${folder}`}
        </Text>
        <Group grow align="flex-start">
          <Select
            label="Branch"
            data={names}
            value={target}
            onChange={(name) => name && setTarget(name)}
            allowDeselect={false}
          />
          <TextInput
            label="Folder in the dataset"
            placeholder="top level"
            value={into}
            onChange={(event) => setInto(event.currentTarget.value)}
          />
        </Group>
        {folder && (
          <Checkbox
            label={`Keep the folder's own name, ${folder}`}
            checked={keepFolder}
            onChange={(event) => setKeepFolder(event.currentTarget.checked)}
          />
        )}
        <TextInput
          label="Commit message"
          value={message}
          onChange={(event) => setWritten(event.currentTarget.value)}
        />
        <Preview plan={plan} />
        <Refused plan={plan} />
        <Text size="sm" c="dimmed">
          Files that are there under these paths are replaced; older commits keep them. Content that the
          project has already is not sent.
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            leftSection={<IconUpload size={16} aria-hidden />}
            disabled={plan.items.length === 0}
            onClick={start}
            data-autofocus
          >
            Upload {plural(plan.files, "file")}
          </Button>
        </Group>
        <CommandLine
          command={uploadCommand(`${dataset.project}/${dataset.name}@${target}`, items, { into, keepFolder })}
        />
      </Stack>
    </Modal>
  );
}

/** Not `crypto.randomUUID`, which browsers have on secure origins only. */
function newId(): string {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
}

const SHOWN = 4;

function Preview({ plan }: { plan: Plan }) {
  if (plan.items.length === 0) return null;
  const shown = plan.items.slice(0, SHOWN).map((item) => item.path + (item.file ? "" : "/"));
  const more = plan.items.length - shown.length;
  return (
    <Code block aria-label="Paths in the dataset">
      {[...shown, ...(more > 0 ? [`… and ${more.toLocaleString("en")} more`] : [])].join("\n")}
    </Code>
  );
}

function Refused({ plan }: { plan: Plan }) {
  if (plan.refused.length === 0) return null;
  return (
    <Alert
      color="orange"
      icon={<IconAlertTriangle />}
      title={`${plural(plan.refused.length, "path is", "paths are")} left out`}
    >
      <List size="sm">
        {plan.refused.slice(0, SHOWN).map(({ path, why }) => (
          <List.Item key={path} style={{ overflowWrap: "anywhere" }}>
            {path}: {why}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
