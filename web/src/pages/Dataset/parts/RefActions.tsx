import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import {
  IconDots,
  IconGitBranch,
  IconGitCompare,
  IconGitMerge,
  IconPackageExport,
  IconTag,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { refsQuery } from "../../../api/datasets";
import { useMay } from "../../../api/session";
import type { Dataset } from "../../../api/shapes";
import { ExportDialog } from "./ExportDialog";
import { MergeDialog } from "./MergeDialog";
import { NewRef } from "./NewRef";

type Opened = "branch" | "tag" | "merge" | "export" | null;

/** What can be done from the branch, tag or commit that is shown. */
export function RefActions({ dataset, at }: { dataset: Dataset; at: string }) {
  const place = { project: dataset.project, dataset: dataset.name };
  const may = useMay(dataset.project, "member") && dataset.kind === "data";
  const refs = useQuery(refsQuery(place)).data?.items ?? [];
  const navigate = useNavigate();
  const [opened, setOpened] = useState<Opened>(null);
  const others = refs.filter((ref) => ref.type === "branch" && ref.name !== at);
  const compare = () =>
    navigate({
      to: "/projects/$project/datasets/$dataset",
      params: place,
      search: { tab: "diff", before: dataset.default_branch, after: at },
    });
  const close = () => setOpened(null);
  return (
    <>
      <Menu position="bottom-start">
        <Menu.Target>
          <Tooltip label="Branch, tag, merge, export">
            <ActionIcon variant="default" size={36} aria-label={`Actions for ${at}`}>
              <IconDots size={18} />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconGitCompare size={16} aria-hidden />}
            onClick={compare}
            disabled={at === dataset.default_branch}
          >
            Compare with {dataset.default_branch}
          </Menu.Item>
          <Menu.Item
            leftSection={<IconPackageExport size={16} aria-hidden />}
            onClick={() => setOpened("export")}
          >
            Export to a file
          </Menu.Item>
          {may && (
            <>
              <Menu.Item
                leftSection={<IconGitBranch size={16} aria-hidden />}
                onClick={() => setOpened("branch")}
              >
                New branch from here
              </Menu.Item>
              <Menu.Item leftSection={<IconTag size={16} aria-hidden />} onClick={() => setOpened("tag")}>
                Tag this commit
              </Menu.Item>
              <Menu.Item
                leftSection={<IconGitMerge size={16} aria-hidden />}
                onClick={() => setOpened("merge")}
                disabled={others.length === 0}
              >
                Merge into another branch
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {opened === "export" && <ExportDialog place={place} at={at} onClose={close} />}
      {(opened === "branch" || opened === "tag") && (
        <NewRef place={place} type={opened} at={at} onClose={close} />
      )}
      {opened === "merge" && <MergeDialog dataset={dataset} source={at} onClose={close} />}
    </>
  );
}
