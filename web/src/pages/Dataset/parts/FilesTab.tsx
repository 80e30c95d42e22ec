import { Grid, Group, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { refsQuery } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Directory } from "./Directory";
import { DownloadFolder } from "./DownloadFolder";
import { FilePreview } from "./FilePreview";
import { NoCommits } from "./NoCommits";
import { PathBreadcrumbs } from "./PathBreadcrumbs";
import { RefActions } from "./RefActions";
import { RefSelect } from "./RefSelect";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

export function FilesTab({ dataset }: { dataset: Dataset }) {
  const { ref: asked, path = "", file } = route.useSearch();
  const ref = asked ?? dataset.default_branch;
  const navigate = route.useNavigate();
  const branch = useChangeable(dataset, ref);
  if (dataset.head === null && !asked) return <NoCommits dataset={dataset} />;
  const place = { project: dataset.project, dataset: dataset.name };
  const written = `${dataset.project}/${dataset.name}@${ref}`;
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          <RefSelect
            place={place}
            value={ref}
            onChange={(chosen) =>
              navigate({ search: { tab: "files", ref: chosen, path: path || undefined } })
            }
          />
          <RefActions dataset={dataset} at={ref} />
          <PathBreadcrumbs path={path} />
        </Group>
        <Group gap="xs" maw="100%">
          <CommandLine command={commandFor(written, path, file)} />
          <DownloadFolder place={{ ...place, ref, path }} />
        </Group>
      </Group>
      <Grid>
        <Grid.Col span={{ base: 12, md: file ? 6 : 12 }}>
          <Directory place={{ ...place, ref, path }} selected={file} branch={branch} />
        </Grid.Col>
        {file && (
          <Grid.Col span={{ base: 12, md: 6 }}>
            <div className="beside">
              <FilePreview key={file} file={{ ...place, ref, path: file }} />
            </div>
          </Grid.Col>
        )}
      </Grid>
    </Stack>
  );
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
function useChangeable(dataset: Dataset, ref: string): string | null {
  const may = useMay(dataset.project, "member") && dataset.kind === "data";
  const refs = useQuery(refsQuery({ project: dataset.project, dataset: dataset.name })).data?.items ?? [];
  return may && refs.some((known) => known.name === ref && known.type === "branch") ? ref : null;
}
