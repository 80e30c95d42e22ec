import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type RunPlace, runQuery } from "../../../api/runs";
import { Loaded } from "../../../components/Loaded";
import { useTopic } from "../../../hooks/useLive";
import { Artifacts } from "./Artifacts";
import { MetricCharts } from "./MetricCharts";
import { Values } from "./Values";

interface Props {
  place: RunPlace;
  isRunning: boolean;
}

/** What a run said about itself: metrics, parameters, tags, artifacts. Jobs and runs without a job share it. */
export function RunRecord({ place, isRunning }: Props) {
  useTopic(isRunning ? `run:${place.run}` : null);
  const result = useQuery(runQuery(place));
  return (
    <Loaded result={result}>
      {(run) => (
        <Stack gap="lg">
          <MetricCharts place={place} />
          <Values title="Parameters" values={run.params} />
          <Values title="Tags" values={run.tags} />
          <Artifacts place={place} />
        </Stack>
      )}
    </Loaded>
  );
}
