import { Group, Stack } from "@mantine/core";
import { IconFiles } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { ARTIFACTS, artifactsCommitQuery } from "../../../api/runs";
import type { RunDetails } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { EmptyState } from "../../../components/EmptyState";
import { Loaded } from "../../../components/Loaded";
import { TextLink } from "../../../components/TextLink";
import { shellQuote } from "../../../lib/names";
import { DownloadFolder } from "../../Dataset/parts/DownloadFolder";
import { RegisterButton } from "../../Model/parts/RegisterModel";
import type { RunSearch } from "../tabs";
import { FileBrowser } from "./FileBrowser";

interface Props {
  run: RunDetails;
  search: RunSearch;
  onSearch: (search: RunSearch) => void;
}

/** Files a run kept: a commit of the lake, browsed and previewed as those of datasets are. */
export function ArtifactsTab({ run, search, onSearch }: Props) {
  const result = useQuery(artifactsCommitQuery({ project: run.project, run: run.id }));
  return (
    <Loaded result={result}>
      {(commit) =>
        commit === null ? (
          <EmptyState
            icon={IconFiles}
            sentence="No artifacts. Keep models, images, figures and tables with the run."
            command={'millpond.log_artifact("model.pt")\nmillpond.log_image("sample", image, step=1)'}
          />
        ) : (
          <Stack component="section" aria-label="Artifacts">
            <Tools run={run} commit={commit.id} path={search.path ?? ""} />
            <FileBrowser
              title="Artifacts"
              tree={{ project: run.project, dataset: ARTIFACTS, ref: commit.id }}
              search={{ ...search, tab: "artifacts" }}
              onSearch={onSearch}
            />
          </Stack>
        )
      }
    </Loaded>
  );
}

function Tools({ run, commit, path }: { run: RunDetails; commit: string; path: string }) {
  const place = { project: run.project, dataset: ARTIFACTS };
  return (
    <Group gap="xs" justify="space-between">
      <CommandLine command={`mill run download ${run.id}${path ? ` ${shellQuote(path)}` : ""}`} />
      <Group gap="xs">
        <TextLink
          to="/projects/$project/datasets/$dataset"
          params={place}
          search={{ tab: "files", ref: run.id }}
          size="sm"
        >
          Open as a dataset
        </TextLink>
        <RegisterButton project={run.project} run={run.id} path={path} />
        <DownloadFolder place={{ ...place, ref: commit, path }} />
      </Group>
    </Group>
  );
}
