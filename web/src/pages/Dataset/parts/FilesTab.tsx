import { Grid, Group, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { refsQuery } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { WaitingRows } from "../../../components/Waiting";
import { shortRef } from "../../../lib/names";
import { CommitSelect } from "./CommitSelect";
import { Directory } from "./Directory";
import { DownloadFolder } from "./DownloadFolder";
import { FilePreview } from "./FilePreview";
import { NoCommits } from "./NoCommits";
import { PathBreadcrumbs } from "./PathBreadcrumbs";
import { RefActions } from "./RefActions";
import { RefSelect } from "./RefSelect";
import { useShownRef } from "./shownRef";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

export function FilesTab({ dataset }: { dataset: Dataset }) {
  const { ref: asked, path = "", file, from } = route.useSearch();
  const { ref, isEmpty } = useShownRef(dataset, asked);
  const navigate = route.useNavigate();
  const branch = useChangeable(dataset, ref);
  const preview = useCallback(
    // Stepping through files adds nothing to the history: one step back leaves the preview.
    (chosen: string | undefined) =>
      void navigate({
        search: (now) => ({ ...now, tab: "files", file: chosen }),
        replace: chosen !== undefined,
        resetScroll: false,
      }),
    [navigate],
  );
  if (isEmpty) return <NoCommits dataset={dataset} />;
  if (!ref) return <WaitingRows />;
  const place = { project: dataset.project, dataset: dataset.name };
  const show = (chosen: string) =>
    navigate({ search: { tab: "files", ref: chosen, path: path || undefined } });
  const written = `${dataset.project}/${dataset.name}@${shortRef(ref)}`;
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          {dataset.kind === "data" ? (
            <>
              <RefSelect place={place} value={ref} onChange={show} />
              <RefActions dataset={dataset} at={ref} />
            </>
          ) : (
            <CommitSelect place={place} value={ref} onChange={show} />
          )}
          <PathBreadcrumbs path={path} />
        </Group>
        <Group gap="xs" maw="100%">
          <CommandLine command={commandFor(written, path, file)} />
          <DownloadFolder place={{ ...place, ref, path }} />
        </Group>
      </Group>
      <Grid>
        <Grid.Col span={{ base: 12, md: file ? 6 : 12 }} order={{ base: 2, md: 1 }}>
          <Directory
            place={{ ...place, ref, path }}
            selected={file}
            branch={branch}
            from={from}
            onFrom={(name) =>
              navigate({ search: { tab: "files", ref: asked, path: path || undefined, from: name } })
            }
            onShow={preview}
          />
        </Grid.Col>
        {file && (
          // Above the names on a narrow screen: below a long directory nobody would find it.
          <Grid.Col span={{ base: 12, md: 6 }} order={{ base: 1, md: 2 }}>
            <div className="beside" ref={bringIntoSight} key={file}>
              <FilePreview
                key={file}
                file={{ ...place, ref, path: file }}
                onClose={() => preview(undefined)}
              />
            </div>
          </Grid.Col>
        )}
      </Grid>
    </Stack>
  );
}

/** Where it is above the names, one who scrolled down to choose a file would not see it. */
function bringIntoSight(preview: HTMLElement | null): void {
  if (preview && preview.getBoundingClientRect().bottom < 0) preview.scrollIntoView({ block: "start" });
}

/** What the download does, on the command line. */
function commandFor(written: string, path: string, file: string | undefined): string {
  if (file) return `mill data cat ${quoted(`${written}:${file}`)}`;
  return path ? `mill data clone ${written} --only ${quoted(`/${path}/`)}` : `mill data clone ${written}`;
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The branch that is shown, if the viewer may change it; tags and commits never change. */
function useChangeable(dataset: Dataset, ref: string | undefined): string | null {
  const may = useMay(dataset.project, "member") && dataset.kind === "data";
  const refs = useQuery(refsQuery({ project: dataset.project, dataset: dataset.name })).data?.items ?? [];
  return (may && refs.find((known) => known.name === ref && known.type === "branch")?.name) || null;
}
