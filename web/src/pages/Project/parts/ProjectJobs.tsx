import { IconPlayerPlay } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { jobsQuery } from "../../../api/jobs";
import { EmptyState } from "../../../components/EmptyState";
import { Paged } from "../../../components/Paged";
import { shellQuote } from "../../../lib/names";
import { JobTable } from "../../Job/parts/JobTable";

export function ProjectJobs({ project }: { project: string }) {
  const result = useInfiniteQuery(jobsQuery({ project }));
  return (
    <Paged
      result={result}
      empty={
        <EmptyState
          icon={IconPlayerPlay}
          sentence="This project has no jobs yet."
          command={`mill submit --project ${shellQuote(project)} -- python train.py`}
        />
      }
    >
      {(jobs) => <JobTable jobs={jobs} label={`Jobs of ${project}`} />}
    </Paged>
  );
}
