import { ActionIcon, Button, Menu, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconArrowsDiff, IconDots, IconRepeat, IconTablePlus, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { jobQuery } from "../../../api/jobs";
import { useDeleteVersion, useUndeleteVersion } from "../../../api/models";
import { runQuery } from "../../../api/runs";
import { useMay } from "../../../api/session";
import type { ModelVersion } from "../../../api/shapes";
import { notifyUndo, tell } from "../../../components/notify";
import { RunAgain } from "../../Run/again/RunAgain";
import { DeployButton } from "./Deploy";
import { PredictDataset } from "./PredictDataset";

/** Make the version's run again, compare the version, delete it; as far as the viewer may. */
export function VersionActions({ version }: { version: ModelVersion }) {
  const may = useMay(version.project, "member");
  return (
    <>
      {may && version.state !== "elsewhere" && <DeployButton version={version} />}
      {may && version.run && <Again project={version.project} run={version.run} />}
      <CompareLink version={version} />
      {may && <VersionMenu version={version} />}
    </>
  );
}

/** Nothing for a run that is gone. */
function Again({ project, run: id }: { project: string; run: string }) {
  const [opened, dialog] = useDisclosure(false);
  const run = useQuery(runQuery({ project, run: id })).data;
  const job = useQuery({ ...jobQuery({ project, job: run?.job ?? "" }), enabled: !!run?.job }).data ?? null;
  if (!run || (run.job && !job)) return null;
  return (
    <>
      <Button variant="default" leftSection={<IconRepeat size={16} aria-hidden />} onClick={dialog.open}>
        Run again
      </Button>
      {opened && <RunAgain run={run} job={job} onClose={dialog.close} />}
    </>
  );
}

function CompareLink({ version }: { version: ModelVersion }) {
  if (version.version === 1) return null;
  const { project, model } = version;
  return (
    <Button
      variant="default"
      leftSection={<IconArrowsDiff size={16} aria-hidden />}
      renderRoot={(props) => (
        <Link
          {...props}
          to="/projects/$project/models/$model"
          params={{ project, model }}
          search={{ tab: "compare", after: String(version.version) }}
        />
      )}
    >
      Compare
    </Button>
  );
}

function VersionMenu({ version }: { version: ModelVersion }) {
  const remove = useRemoval(version);
  const [predicting, predict] = useDisclosure(false);
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Tooltip label="More actions">
            <ActionIcon variant="default" size={36} aria-label="More actions">
              <IconDots size={18} aria-hidden />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconTablePlus size={16} aria-hidden />} onClick={predict.open}>
            Predict a dataset
          </Menu.Item>
          <Menu.Item color="red" leftSection={<IconTrash size={16} aria-hidden />} onClick={remove}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {predicting && <PredictDataset version={version} onClose={predict.close} />}
    </>
  );
}

/** Into the bin, with a way back. */
function useRemoval({ project, model, version }: ModelVersion): () => void {
  const navigate = useNavigate();
  const remove = useDeleteVersion();
  const restore = useUndeleteVersion();
  const place = { project, model, version: String(version) };
  return () =>
    void tell(remove.mutateAsync(place), () => {
      notifyUndo(`Version ${version} is in the bin.`, () => void tell(restore.mutateAsync(place)));
      void navigate({ to: "/projects/$project/models/$model", params: { project, model } });
    });
}
