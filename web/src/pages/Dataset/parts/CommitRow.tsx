import { Badge, Group, Paper, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { DatasetPlace } from "../../../api/datasets";
import type { Commit } from "../../../api/shapes";
import { CopyIcon } from "../../../components/Copyable";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { shortId } from "../../../lib/names";
import { formatBytes, plural } from "../../../lib/quantity";
import { WhyDrawer } from "../../Cache/parts/WhyDrawer";
import { CacheButton } from "./CacheButton";
import { CachedBadge } from "./CachedBadge";
import { CommitJobs } from "./CommitJobs";
import { commitTitle } from "./commitTitle";
import { OutsideOf } from "./Outside";

interface Props {
  commit: Commit;
  place: DatasetPlace;
}

export function CommitRow({ commit, place }: Props) {
  return (
    <Paper withBorder p="md" component="li" data-testid="commit">
      <Group justify="space-between" align="flex-start">
        <div style={{ flex: 1, minWidth: 260 }}>
          <Group gap="xs">
            <Text fw={600} style={{ overflowWrap: "anywhere" }}>
              {commitTitle(commit)}
            </Text>
            {named(commit).map((ref) => (
              <Badge key={ref} variant="outline" color="gray" tt="none">
                {ref}
              </Badge>
            ))}
            <OutsideOf commit={commit} />
          </Group>
          <Group gap={6} mt={2}>
            <CommitLink commit={commit} place={place} />
            <CopyIcon value={commit.id} label="Copy the commit id" />
            <Text size="sm" c="dimmed" component="div">
              {commit.jobs.length > 0 && (
                <>
                  job <CommitJobs commit={commit} place={place} /> ·{" "}
                </>
              )}
              {commit.author} · <Time at={commit.time} /> · {plural(commit.files, "file")} ·{" "}
              {formatBytes(commit.bytes)}
              {" · "}
              <TextLink
                to="/projects/$project/datasets/$dataset"
                params={place}
                search={{ tab: "files", ref: commit.id }}
                underline="always"
                size="sm"
              >
                files
              </TextLink>
              {" · "}
              <TextLink
                to="/projects/$project/datasets/$dataset"
                params={place}
                search={{ tab: "commit", ref: commit.id }}
                underline="always"
                size="sm"
              >
                changes
              </TextLink>
              {" · "}
              <WhyCached commit={commit} place={place} />
            </Text>
          </Group>
        </div>
        <CacheButton commit={commit} place={place} />
      </Group>
      {commit.cached_on.length > 0 && (
        <Group mt="sm" gap="sm">
          {commit.cached_on.map((cached) => (
            <CachedBadge key={cached.cached_id} cached={cached} place={place} />
          ))}
        </Group>
      )}
    </Paper>
  );
}

/** Names that people gave it: what jobs ran and made has a branch for each commit, which says nothing to them. */
function named(commit: Commit): string[] {
  return /\/\.(code|outputs)$/.test(commit.dataset) ? [] : commit.refs;
}

function CommitLink({ commit, place }: Props) {
  return (
    <TextLink
      to="/projects/$project/datasets/$dataset"
      params={place}
      search={{ tab: "commit", ref: commit.id }}
      className="mono"
      size="sm"
      aria-label={`Commit ${shortId(commit.id)}`}
    >
      {shortId(commit.id)}
    </TextLink>
  );
}

/** Where it is cached and why, or why it is not. */
function WhyCached({ commit, place }: Props) {
  const [opened, drawer] = useDisclosure(false);
  return (
    <>
      <button type="button" className="text-button" onClick={drawer.open}>
        copies
      </button>
      {opened && <WhyDrawer cached={{ ...place, commit_id: commit.id }} onClose={drawer.close} />}
    </>
  );
}
