import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";
import { useState } from "react";
import type { DatasetPlace } from "../../../api/datasets";
import { useSession } from "../../../api/session";
import { Time } from "../../../components/Time";
import { useUploads } from "../../../hooks/useUploads";
import { formatBytes, plural } from "../../../lib/quantity";
import { forgetUnfinished, listUnfinished, type Unfinished } from "../../../lib/upload/unfinished";
import { useUploadChoosers } from "./UploadArea";

/** Uploads of this dataset that a reload or a closed tab interrupted. A page may not open files by itself. */
export function UnfinishedUploads({ project, dataset }: DatasetPlace) {
  const choosers = useUploadChoosers();
  const running = new Set(useUploads().map((upload) => upload.id));
  const [, setForgotten] = useState(0);
  const by = useSession()?.user.name;
  const found = listUnfinished().filter(
    (upload) =>
      upload.by === by && upload.project === project && upload.dataset === dataset && !running.has(upload.id),
  );
  if (!choosers) return null;
  const forget = (upload: Unfinished) => {
    forgetUnfinished(upload.id);
    setForgotten((count) => count + 1);
  };
  return found.map((upload) => (
    <Alert
      key={upload.id}
      color="blue"
      icon={<IconUpload />}
      mb="md"
      title={`An upload to ${upload.branch} was interrupted`}
      data-testid="unfinished"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm" component="div">
          “{upload.message}”, {plural(upload.files, "file")}, {formatBytes(upload.bytes)}, begun{" "}
          <Time at={upload.at} />. Choose or drop the same folder again: it is read once more, but what was
          sent is not sent again.
        </Text>
        <Group gap="xs">
          <Button size="xs" onClick={() => choosers.chooseFolder(upload)}>
            Choose folder
          </Button>
          <Button size="xs" variant="default" onClick={() => forget(upload)}>
            Discard
          </Button>
        </Group>
      </Stack>
    </Alert>
  ));
}
