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
        sentence="No commits yet. Each job stores its code or output here as a commit."
        action={<TextLink to="/jobs">Jobs</TextLink>}
        command={`mill cache add ${dataset.project}/${dataset.name}@COMMIT`}
      />
    );
  }
  return (
    <EmptyState
      icon={IconGitCommit}
      sentence="No commits yet. Drop a folder on this page, or sync one from the command line."
      action={<UploadButton />}
      command={`mill data init ${dataset.project}/${dataset.name} && mill data sync -m "first version"`}
    />
  );
}
