import { Button, Group, Paper } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconRefresh } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { Project } from "../../../api/shapes";
import { sourcesQuery } from "../../../api/sources";
import { BriefEmptyState, EmptyState } from "../../../components/EmptyState";
import { Paged } from "../../../components/Paged";
import { NewSource } from "./NewSource";
import { SourceTable } from "./SourceTable";

interface Props {
  project: Project;
  /** One of several: what there is to say of it is said in a line. */
  brief: boolean;
}

export function Sources({ project, brief }: Props) {
  const result = useInfiniteQuery(sourcesQuery(project.name));
  const [creating, dialog] = useDisclosure(false);
  const create = project.role !== "viewer" && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
      New source
    </Button>
  );
  return (
    <>
      <Paged
        result={result}
        empty={
          brief ? (
            <BriefEmptyState words="Nothing comes here by itself yet." action={create} />
          ) : (
            <EmptyState
              icon={IconRefresh}
              sentence="No sources yet. A source imports changes from a bucket or site into a dataset on a schedule."
              action={create}
              command="mill source add DATASET s3://bucket/prefix --every 1h"
            />
          )
        }
      >
        {(sources) => (
          <>
            <Paper withBorder>
              <SourceTable sources={sources} mayChange={project.role !== "viewer"} />
            </Paper>
            <Group>{create}</Group>
          </>
        )}
      </Paged>
      {creating && <NewSource project={project.name} onClose={dialog.close} />}
    </>
  );
}
