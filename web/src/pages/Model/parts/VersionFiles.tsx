import { Alert, Group, Stack } from "@mantine/core";
import type { ModelVersion } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { shellQuote } from "../../../lib/names";
import { DownloadFolder } from "../../Dataset/parts/DownloadFolder";
import { FileBrowser } from "../../Run/parts/FileBrowser";
import type { VersionSearch } from "../tabs";

interface Props {
  version: ModelVersion;
  search: VersionSearch;
  onSearch: (search: VersionSearch) => void;
}

/** The files of a version, browsed, previewed and downloaded. */
export function VersionFiles({ version, search, onSearch }: Props) {
  const { path = "" } = search;
  if (version.state === "elsewhere") {
    return (
      <Alert variant="light" color="gray" title="Its files are not in the lake.">
        They are at {version.source}.
      </Alert>
    );
  }
  const tree = { project: version.project, dataset: version.dataset, ref: version.commit };
  const written = shellQuote(`${version.model}@${version.version}`);
  return (
    <Stack component="section" aria-label="Files">
      <Group gap="xs" justify="space-between">
        <CommandLine
          command={`mill model download ${written}${path ? ` --path ${shellQuote(path)}` : ""} --to model`}
        />
        <DownloadFolder place={{ ...tree, path }} />
      </Group>
      <FileBrowser
        title="Files"
        tree={tree}
        search={{ ...search, tab: "files" as const }}
        onSearch={onSearch}
      />
    </Stack>
  );
}
