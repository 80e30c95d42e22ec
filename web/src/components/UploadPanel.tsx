import { ActionIcon, Button, Group, Paper, Progress, Stack, Text, Tooltip } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useSession } from "../api/session";
import { uploads, useUploads } from "../hooks/useUploads";
import { formatBytes, formatElapsed, plural } from "../lib/quantity";
import { rateOf, secondsLeft } from "../lib/upload/rate";
import type { UploadState } from "../lib/upload/uploads";
import { TextLink } from "./TextLink";

/** The uploads of this tab, in the corner of every page. */
export function UploadPanel() {
  const by = useSession()?.user.name;
  const states = useUploads().filter((upload) => upload.by === by);
  if (states.length === 0) return null;
  return (
    <Stack className="upload-panel" gap="xs" component="section" aria-label="Uploads">
      {states.map((upload) => (
        <UploadCard key={upload.id} upload={upload} />
      ))}
    </Stack>
  );
}

function UploadCard({ upload }: { upload: UploadState }) {
  const isOver = upload.phase === "done" || upload.phase === "failed";
  const close = () => (isOver ? uploads.dismiss(upload.id) : uploads.cancel(upload.id));
  const label = isOver ? "Close" : "Cancel the upload";
  return (
    <Paper withBorder shadow="md" p="sm" data-testid="upload" data-phase={upload.phase}>
      <Group justify="space-between" wrap="nowrap" align="flex-start" mb={4}>
        <TextLink
          to="/projects/$project/datasets/$dataset"
          params={{ project: upload.project, dataset: upload.dataset }}
          search={{ tab: "files", ref: upload.branch, path: upload.into || undefined }}
          fw={600}
          size="sm"
        >
          {upload.dataset}@{upload.branch}
        </TextLink>
        <Tooltip label={label}>
          <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={close}>
            <IconX size={14} />
          </ActionIcon>
        </Tooltip>
      </Group>
      {upload.phase === "failed" ? <Failed upload={upload} /> : <Running upload={upload} />}
    </Paper>
  );
}

function Running({ upload }: { upload: UploadState }) {
  const { progress, bytes } = upload;
  const percent = upload.phase === "done" ? 100 : bytes > 0 ? (100 * progress.bytes) / bytes : 0;
  return (
    <>
      <Progress
        value={percent}
        size="md"
        color={upload.phase === "done" ? "green.7" : "cyan.7"}
        animated={upload.phase === "sending" && !upload.away}
        aria-label="Upload progress"
        mb={6}
      />
      <Text size="sm" role="status">
        {phrase(upload)}
      </Text>
      {upload.phase !== "done" && <Numbers upload={upload} />}
      {upload.phase === "done" && upload.commit && (
        <TextLink
          to="/projects/$project/datasets/$dataset"
          params={{ project: upload.project, dataset: upload.dataset }}
          search={{ tab: "commit", ref: upload.commit }}
          size="sm"
          underline="always"
        >
          Show the commit
        </TextLink>
      )}
    </>
  );
}

/** Files, bytes, rate and time left: renewed often, so not read out. */
function Numbers({ upload }: { upload: UploadState }) {
  const { progress, files, bytes, samples } = upload;
  const isMoving = upload.phase === "sending" && !upload.away;
  const rate = rateOf(samples);
  const left = secondsLeft(bytes - progress.bytes, rate);
  const parts = [
    `${progress.files.toLocaleString("en")} of ${plural(files, "file")}`,
    `${formatBytes(progress.bytes)} of ${formatBytes(bytes)}`,
    ...(rate !== null && isMoving ? [`${formatBytes(Math.round(rate))}/s`] : []),
    ...(left !== null && isMoving ? [`${formatElapsed(left)} left`] : []),
  ];
  return (
    <Text size="xs" c="dimmed" data-testid="upload-numbers">
      {parts.join(" · ")}
    </Text>
  );
}

function Failed({ upload }: { upload: UploadState }) {
  const { failure, progress } = upload;
  return (
    <Stack gap={6} align="flex-start" role="alert">
      <Text size="sm" fw={600}>
        {failure?.message}
      </Text>
      {failure?.hint && <Text size="sm">{failure.hint}</Text>}
      {failure?.requestId && (
        <Text size="xs" c="dimmed">
          Request <span className="mono">{failure.requestId}</span>
        </Text>
      )}
      <Text size="xs" c="dimmed">
        Nothing was committed. {formatBytes(progress.bytes)} arrived and are not sent again.
      </Text>
      <Button size="xs" onClick={() => uploads.goOn(upload.id)}>
        Go on
      </Button>
    </Stack>
  );
}

function phrase({ phase, away, progress }: UploadState): string {
  if (away) return "The server does not respond. The upload resumes automatically.";
  if (phase === "committing") return "Committing";
  if (phase === "sending") return "Uploading. Keep this tab open.";
  const known = progress.bytes - progress.sent;
  const saved = progress.bytes > 0 && known > 0.01 * progress.bytes;
  const note = saved ? ` ${formatBytes(progress.sent)} were sent: the rest was there already.` : "";
  return `Committed: ${plural(progress.files, "file")}, ${formatBytes(progress.bytes)}.${note}`;
}
