import { IconDatabase } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { datasetsQuery } from "../../../api/datasets";
import { EmptyState } from "../../../components/EmptyState";
import { Paged } from "../../../components/Paged";
import { WaitingCards } from "../../../components/Waiting";
import { shellQuote } from "../../../lib/names";
import { DatasetCards } from "../../Dataset/parts/DatasetCards";

export function ProjectDatasets({ project }: { project: string }) {
  const result = useInfiniteQuery(datasetsQuery({ project }));
  return (
    <Paged
      result={result}
      waiting={<WaitingCards cards={3} />}
      empty={
        <EmptyState
          icon={IconDatabase}
          sentence="This project has no datasets yet."
          command={`mill data init my-data --project ${shellQuote(project)} && mill data sync`}
        />
      }
    >
      {(datasets) => <DatasetCards datasets={datasets} />}
    </Paged>
  );
}
