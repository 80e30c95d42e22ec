import { Grid, Group, Stack } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { Dataset } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { NoCommits } from "./CommitsTab";
import { Directory } from "./Directory";
import { FilePreview } from "./FilePreview";
import { PathBreadcrumbs } from "./PathBreadcrumbs";
import { RefSelect } from "./RefSelect";

const route = getRouteApi("/in/projects/$project/datasets/$dataset");

export function FilesTab({ dataset }: { dataset: Dataset }) {
  const { ref = dataset.default_branch, path = "", file } = route.useSearch();
  const navigate = route.useNavigate();
  if (dataset.head === null) return <NoCommits dataset={dataset} />;
  const place = { project: dataset.project, dataset: dataset.name };
  const written = `${dataset.project}/${dataset.name}@${ref}`;
  return (
    <Stack>
      <Group justify="space-between">
        <Group>
          <RefSelect
            place={place}
            value={ref}
            onChange={(chosen) =>
              navigate({ search: { tab: "files", ref: chosen, path: path || undefined } })
            }
          />
          <PathBreadcrumbs path={path} />
        </Group>
        <CommandLine command={file ? `mill data cat '${written}:${file}'` : `mill data clone ${written}`} />
      </Group>
      <Grid>
        <Grid.Col span={{ base: 12, md: file ? 6 : 12 }}>
          <Directory place={{ ...place, ref, path }} selected={file} />
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
