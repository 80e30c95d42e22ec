import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { allTrialsQuery } from "../../../api/searches";
import type { Search, Trial } from "../../../api/shapes";
import { Loaded } from "../../../components/Loaded";
import { useLineColors } from "../../../components/Plot";
import { ParallelTab } from "../../Compare/parts/ParallelTab";
import { comparedTrials } from "./trials";

interface Props {
  search: Search;
  axes: string | undefined;
  onAxes: (axes: string | undefined) => void;
  /** Ids of runs, by commas. */
  onCompare: (runs: string) => void;
}

/** A line for each trial through its parameters to its values. */
export function ParallelTrials(props: Props) {
  const { search } = props;
  const place = { project: search.project, search: search.id };
  const result = useQuery(allTrialsQuery(place, !search.ended_at));
  return <Loaded result={result}>{(trials) => <Lines {...props} trials={trials} />}</Loaded>;
}

function Lines({ search, axes, onAxes, onCompare, trials }: Props & { trials: Trial[] }) {
  const [color = ""] = useLineColors();
  const compared = useMemo(() => comparedTrials(search, trials, color), [search, trials, color]);
  return (
    <ParallelTab
      compared={compared}
      search={{ axes }}
      onChange={(part) => (part.runs ? onCompare(part.runs) : onAxes(part.axes))}
      action="Compare"
    />
  );
}
