import { Badge, Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { IconArrowBackUp, IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { commitQuery } from "../../../api/commits";
import type { DatasetPlace } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Commit, Dataset } from "../../../api/shapes";
import { CommandLine, CopyIcon } from "../../../components/Copyable";
import { Facts } from "../../../components/Facts";
import { Loaded } from "../../../components/Loaded";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { shortId } from "../../../lib/names";
import { formatBytes, plural } from "../../../lib/quantity";
import { CacheButton } from "./CacheButton";
import { CachedBadge } from "./CachedBadge";
import { CommitJobs } from "./CommitJobs";
import { commitTitle } from "./commitTitle";
import { Difference } from "./Difference";
import { OutsideOf } from "./Outside";
import { RefActions } from "./RefActions";
import { RevertDialog } from "./RevertDialog";
import { Verified } from "./Verified";

/** One commit: what it is, where it came from, and what it changed. */
export function CommitView({ dataset, commit: ref }: { dataset: Dataset; commit: string }) {
  const place = { project: dataset.project, dataset: dataset.name };
  const result = useQuery(commitQuery({ ...place, ref }));
  return (
    <Loaded result={result}>
      {(commit) => (
        <Stack>
          <CommitHeader dataset={dataset} commit={commit} />
          <Changed commit={commit} place={place} />
        </Stack>
      )}
    </Loaded>
  );
}

function CommitHeader({ dataset, commit }: { dataset: Dataset; commit: Commit }) {
  const place = { project: dataset.project, dataset: dataset.name };
  return (
    <Paper withBorder p="md" component="section" aria-label="Commit">
      <Group justify="space-between" align="flex-start" mb="sm">
        <div style={{ flex: 1, minWidth: 260 }}>
          <Group gap="xs">
            <Title order={2} size="h4" style={{ overflowWrap: "anywhere" }}>
              {commitTitle(commit)}
            </Title>
            {(dataset.kind === "data" ? commit.refs : []).map((ref) => (
              <Badge key={ref} variant="outline" color="gray" tt="none">
                {ref}
              </Badge>
            ))}
            <OutsideOf commit={commit} />
          </Group>
          <Group gap={4}>
            <Text className="mono" style={{ overflowWrap: "anywhere" }}>
              {commit.id}
            </Text>
            <CopyIcon value={commit.id} label="Copy the commit id" />
          </Group>
        </div>
        <CommitActions dataset={dataset} commit={commit} />
      </Group>
      <Facts
        facts={[
          ...(commit.jobs.length > 0
            ? [
                {
                  name: dataset.kind === "code" ? "Run by" : "Made by",
                  value: <CommitJobs commit={commit} place={place} />,
                },
              ]
            : []),
          { name: "Author", value: commit.author },
          { name: "Time", value: <Time at={commit.time} /> },
          ...originFacts(commit),
          { name: "Files", value: commit.files.toLocaleString("en") },
          { name: "Size", value: formatBytes(commit.bytes) },
          { name: plural(commit.parents.length, "parent"), value: <Parents commit={commit} place={place} /> },
        ]}
      />
      <Verified commit={commit} place={place} />
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

/** Of a commit that was imported from a file: what it was at the server it comes from. */
function originFacts(commit: Commit) {
  const origin = commit.lineage.origin as { commit?: string; author?: string } | undefined;
  if (!origin?.commit) return [];
  return [{ name: "Imported from", value: `${shortId(origin.commit)} by ${origin.author ?? "somebody"}` }];
}

function CommitActions({ dataset, commit }: { dataset: Dataset; commit: Commit }) {
  const place = { project: dataset.project, dataset: dataset.name };
  const may = useMay(dataset.project, "member") && dataset.kind === "data";
  const navigate = useNavigate();
  const [reverting, setReverting] = useState(false);
  return (
    <Group gap="xs">
      <Button
        variant="default"
        leftSection={<IconFolder size={16} aria-hidden />}
        onClick={() =>
          navigate({
            to: "/projects/$project/datasets/$dataset",
            params: place,
            search: { tab: "files", ref: commit.id },
          })
        }
      >
        Files
      </Button>
      {may && (
        <Button
          variant="default"
          leftSection={<IconArrowBackUp size={16} aria-hidden />}
          onClick={() => setReverting(true)}
        >
          Revert
        </Button>
      )}
      <CacheButton commit={commit} place={place} />
      <RefActions dataset={dataset} at={commit.id} />
      {reverting && <RevertDialog dataset={dataset} commit={commit} onClose={() => setReverting(false)} />}
    </Group>
  );
}

function Parents({ commit, place }: { commit: Commit; place: DatasetPlace }) {
  if (commit.parents.length === 0) return "none (first commit)";
  return (
    <Group gap="xs" component="span">
      {commit.parents.map((parent) => (
        <TextLink
          key={parent}
          to="/projects/$project/datasets/$dataset"
          params={place}
          search={{ tab: "commit", ref: parent }}
          className="mono"
          inherit
        >
          {shortId(parent)}
        </TextLink>
      ))}
    </Group>
  );
}

function Changed({ commit, place }: { commit: Commit; place: DatasetPlace }) {
  const [parent] = commit.parents;
  const written = `${place.project}/${place.dataset}`;
  if (!parent) {
    return <Text>The first commit: all of its {plural(commit.files, "file")} are new.</Text>;
  }
  return (
    <>
      <Group justify="space-between">
        <Title order={2} size="h5">
          Changes from the parent
        </Title>
        <CommandLine
          command={`mill data diff ${written}@${shortId(parent)} ${written}@${shortId(commit.id)}`}
        />
      </Group>
      <Difference place={place} before={parent} after={commit.id} />
    </>
  );
}
