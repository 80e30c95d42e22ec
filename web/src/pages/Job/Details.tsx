import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { jobQuery } from "../../api/jobs";
import { isNotFound } from "../../api/problem";
import { runQuery } from "../../api/runs";
import type { Job } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { RunRecord } from "../Run/Record";
import type { RunSearch } from "../Run/tabs";
import { WhileUnderWay } from "./parts/underWay";

const route = getRouteApi("/in/projects/$project/jobs/$job");

/** The page of a job: that of its run. */
export function JobDetails() {
  const place = route.useParams();
  const result = useQuery({ ...jobQuery(place), ...WhileUnderWay });
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(job) => <WithRun job={job} />}</Loaded>;
}

function WithRun({ job }: { job: Job }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const result = useQuery(runQuery({ project: job.project, run: job.run_id }));
  const show = (chosen: RunSearch) => navigate({ search: chosen, resetScroll: false });
  return (
    <Loaded result={result}>
      {(run) => <RunRecord key={run.id} run={run} job={job} search={search} onSearch={show} />}
    </Loaded>
  );
}
