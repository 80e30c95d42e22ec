import { IconGitCommit } from "@tabler/icons-react";
import type { Dataset } from "../../../api/shapes";
import { EmptyState } from "../../../components/EmptyState";
import { UploadButton } from "../upload/UploadButton";

export function NoCommits({ dataset }: { dataset: Dataset }) {
  return (
    <EmptyState
      icon={IconGitCommit}
      sentence="Nothing was committed yet: drop a folder on this page, or sync a directory into this dataset."
      action={<UploadButton />}
      command={`mill data init ${dataset.project}/${dataset.name} && mill data sync -m "first version"`}
    />
  );
}
