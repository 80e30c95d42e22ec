import { SimpleGrid, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type RunPlace, runQuery } from "../../../api/runs";
import { Loaded } from "../../../components/Loaded";
import { Artifacts } from "./Artifacts";
import { Values } from "./Values";

/** What a run said about itself besides its metrics: parameters, tags, artifacts. */
export function RunValues({ place }: { place: RunPlace }) {
  const result = useQuery(runQuery(place));
  return (
    <Loaded result={result}>
      {(run) => (
        <Stack gap="lg">
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Values title="Parameters" values={run.params} />
            <Values title="Tags" values={run.tags} />
          </SimpleGrid>
          <Artifacts place={place} />
        </Stack>
      )}
    </Loaded>
  );
}
