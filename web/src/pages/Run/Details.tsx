import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { jobQuery } from "../../api/jobs";
import { isNotFound } from "../../api/problem";
import { runQuery } from "../../api/runs";
import type { RunDetails as Run } from "../../api/shapes";
import { Loaded } from "../../components/Loaded";
import { NotFound } from "../../components/NotFound";
import { WhileUnderWay } from "../Job/parts/underWay";
import { RunRecord } from "./Record";
import type { RunSearch } from "./tabs";

const route = getRouteApi("/in/projects/$project/runs/$run");

/** The page of a run by its own address; a job's address leads to the same page. */
export function RunDetails() {
  const place = route.useParams();
  const result = useQuery(runQuery(place));
  if (isNotFound(result.error)) return <NotFound message={result.error?.message} />;
  return <Loaded result={result}>{(run) => <WithJob run={run} />}</Loaded>;
}

function WithJob({ run }: { run: Run }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const place = { project: run.project, job: run.job ?? "" };
  const result = useQuery({ ...jobQuery(place), ...WhileUnderWay, enabled: run.job !== null });
  const show = (chosen: RunSearch) => navigate({ search: chosen, resetScroll: false });
  if (run.job === null) return <RunRecord run={run} job={null} search={search} onSearch={show} />;
  return (
    <Loaded result={result}>
      {(job) => <RunRecord key={run.id} run={run} job={job} search={search} onSearch={show} />}
    </Loaded>
  );
}
