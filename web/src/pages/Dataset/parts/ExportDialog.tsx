import { Code, Modal, Stack, Text } from "@mantine/core";
import type { DatasetPlace } from "../../../api/datasets";
import { CommandLine } from "../../../components/Copyable";
import { shortId } from "../../../lib/names";

interface Props {
  place: DatasetPlace;
  at: string;
  onClose: () => void;
}

/** How this commit is taken to a site without a line. Exports may be of any size, so the command line makes them. */
export function ExportDialog({ place, at, onClose }: Props) {
  const file = `${place.dataset.replace(/^\.+/, "")}.mill`;
  const ref = /^[0-9a-f]{64}$/.test(at) ? shortId(at) : at;
  return (
    <Modal opened onClose={onClose} title={`Export ${place.dataset}@${ref}`} size="lg">
      <Stack>
        <Text size="sm">
          Writes this commit to one verified file, for a site without a network connection to this server:
        </Text>
        <CommandLine command={`mill data export ${place.project}/${place.dataset}@${ref} ${file}`} wrap />
        <Text size="sm">There, import it at a server, or straight onto a volume:</Text>
        <CommandLine command={`mill data import ${file}`} wrap />
        <CommandLine command={`mill data import ${file} --volume DIRECTORY`} wrap />
        <Text size="sm" c="dimmed">
          To write only what the other side lacks, run{" "}
          <Code>mill data have {place.dataset} --output have.json</Code> there, and add{" "}
          <Code>--have have.json</Code> here.
        </Text>
      </Stack>
    </Modal>
  );
}
