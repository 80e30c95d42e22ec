import { ActionIcon, Group, Progress, Text, Tooltip } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useClearCached } from "../../../api/caches";
import { useMay } from "../../../api/session";
import type { CachedOn, CachedState } from "../../../api/shapes";
import { tell } from "../../../components/notify";
import { Status } from "../../../components/Status";
import { formatBytes } from "../../../lib/quantity";

/** Where a commit is cached, or how far it is on its way there. */
export function CachedBadge({ cached, project }: { cached: CachedOn; project: string }) {
  return (
    <Group gap="xs" wrap="nowrap" data-testid="cached-badge">
      <Text size="sm" fw={600}>
        {cached.volume}
      </Text>
      <Status state={cached.state as CachedState} />
      {cached.state === "filling" && <FillProgress done={cached.done_bytes} total={cached.bytes} />}
      {cached.state !== "evicting" && <ClearButton cached={cached} project={project} />}
    </Group>
  );
}

export function FillProgress({ done, total }: { done: number; total: number }) {
  const percent = total > 0 ? Math.min(100, (100 * done) / total) : 0;
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress
        value={percent}
        w={140}
        size="md"
        color="cyan.7"
        animated
        aria-label="Share of the bytes that arrived"
      />
      <Text size="sm">
        {formatBytes(done)} of {formatBytes(total)}
      </Text>
    </Group>
  );
}

function ClearButton({ cached, project }: { cached: CachedOn; project: string }) {
  const may = useMay(project, "member");
  const clear = useClearCached();
  if (!may) return null;
  const label = `Clear from ${cached.volume}`;
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="sm"
        aria-label={label}
        loading={clear.isPending}
        onClick={() => tell(clear.mutateAsync(cached.cached_id))}
      >
        <IconX size={14} />
      </ActionIcon>
    </Tooltip>
  );
}
