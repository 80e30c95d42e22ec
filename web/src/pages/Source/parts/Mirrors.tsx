import { Button, Group, Paper } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCloudUpload, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { mirrorsQuery } from "../../../api/mirrors";
import type { Project } from "../../../api/shapes";
import { BriefEmptyState, EmptyState } from "../../../components/EmptyState";
import { Paged } from "../../../components/Paged";
import { MirrorTable } from "./MirrorTable";
import { NewMirror } from "./NewMirror";

interface Props {
  project: Project;
  /** One of several: what there is to say of it is said in a line. */
  brief: boolean;
}

export function Mirrors({ project, brief }: Props) {
  const result = useInfiniteQuery(mirrorsQuery(project.name));
  const [creating, dialog] = useDisclosure(false);
  const create = project.role !== "viewer" && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New mirror
    </Button>
  );
  return (
    <>
      <Paged
        result={result}
        empty={
          brief ? (
            <BriefEmptyState words="Nothing is mirrored yet." action={create} />
          ) : (
            <EmptyState
              icon={IconCloudUpload}
              sentence="No mirrors yet. A mirror keeps a bucket or another site the same as a dataset or workspace, on a schedule."
              action={create}
              command="mill mirror add DATASET s3://bucket/prefix --every 1h"
            />
          )
        }
      >
        {(mirrors) => (
          <>
            <Paper withBorder>
              <MirrorTable mirrors={mirrors} mayChange={project.role !== "viewer"} />
            </Paper>
            <Group>{create}</Group>
          </>
        )}
      </Paged>
      {creating && <NewMirror project={project.name} onClose={dialog.close} />}
    </>
  );
}
