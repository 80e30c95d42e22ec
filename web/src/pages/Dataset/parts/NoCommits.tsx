import { IconGitCommit } from "@tabler/icons-react";
import type { Dataset } from "../../../api/shapes";
import { EmptyState } from "../../../components/EmptyState";
import { TextLink } from "../../../components/TextLink";
import { UploadButton } from "../upload/UploadButton";

export function NoCommits({ dataset }: { dataset: Dataset }) {
  if (dataset.kind !== "data") {
    return (
      <EmptyState
        icon={IconGitCommit}
        sentence="What jobs run and make is kept here, each as a commit of its own: the page of a job leads to it."
        action={<TextLink to="/jobs">Jobs</TextLink>}
        command={`mill cache add ${dataset.project}/${dataset.name}@COMMIT`}
      />
    );
  }
  return (
    <EmptyState
      icon={IconGitCommit}
      sentence="Nothing was committed yet: drop a folder on this page, or sync a directory into this dataset."
      action={<UploadButton />}
      command={`mill data init ${dataset.project}/${dataset.name} && mill data sync -m "first version"`}
    />
  );
}
