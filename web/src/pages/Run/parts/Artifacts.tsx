import { Grid, Group, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ARTIFACTS, artifactsCommitQuery, type RunPlace } from "../../../api/runs";
import { CommandLine } from "../../../components/Copyable";
import { TextLink } from "../../../components/TextLink";
import { DownloadFolder } from "../../Dataset/parts/DownloadFolder";
import { FilePreview } from "../../Dataset/parts/FilePreview";
import { ArtifactFolder } from "./ArtifactFolder";

/** Files a run kept: a commit of the lake, browsed and previewed as those of datasets are. */
export function Artifacts({ place }: { place: RunPlace }) {
  const { data: commit } = useQuery(artifactsCommitQuery(place));
  const [path, setPath] = useState("");
  const [file, setFile] = useState<string>();
  if (!commit) return null;
  const tree = { project: place.project, dataset: ARTIFACTS, ref: commit.id };
  const open = (folder: string) => {
    setPath(folder);
    setFile(undefined);
  };
  return (
    <Stack component="section" aria-label="Artifacts" gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Artifacts
        </Title>
        <Group gap="xs" maw="100%">
          <CommandLine command={`mill run download ${place.run}${path ? ` '${path}'` : ""}`} />
          <DownloadFolder place={{ ...tree, path }} />
          <TextLink
            to="/projects/$project/datasets/$dataset"
            params={{ project: place.project, dataset: ARTIFACTS }}
            search={{ tab: "files", ref: place.run }}
            size="sm"
          >
            Open as a dataset
          </TextLink>
        </Group>
      </Group>
      <Grid>
        <Grid.Col span={{ base: 12, md: file ? 6 : 12 }} order={{ base: 2, md: 1 }}>
          <ArtifactFolder place={{ ...tree, path }} selected={file} onFolder={open} onFile={setFile} />
        </Grid.Col>
        {file && (
          <Grid.Col span={{ base: 12, md: 6 }} order={{ base: 1, md: 2 }}>
            <FilePreview key={file} file={{ ...tree, path: file }} />
          </Grid.Col>
        )}
      </Grid>
    </Stack>
  );
}
