import { SimpleGrid } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { gpuUseQuery } from "../../../api/gpuUse";
import { homeQuery } from "../../../api/home";
import { Loaded } from "../../../components/Loaded";
import { Tile } from "../../../components/Tile";
import { WaitingCards } from "../../../components/Waiting";
import { roundGpus } from "../../../lib/quantity";
import { utilizationWords } from "./words";

/** The cluster in a line: nodes, GPUs, allocated, idle, running, pending. */
export function Numbers() {
  const result = useQuery(gpuUseQuery);
  const home = useQuery(homeQuery).data;
  return (
    <Loaded result={result} waiting={<WaitingCards cards={3} height={88} />}>
      {({ gpus, allocated, idle, nodes }) => (
        <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} data-testid="cluster">
          <Tile label="Nodes with GPUs">{nodes.length}</Tile>
          <Tile label="GPUs">{gpus}</Tile>
          <Tile label="Allocated" note={gpus > 0 && `${Math.round((100 * allocated) / gpus)} % of all`}>
            {roundGpus(allocated)} / {gpus}
          </Tile>
          <Tile label="Idle" note="allocated, unused for 5 minutes">
            {roundGpus(idle)}
          </Tile>
          <Tile label="Running jobs" note={busyWords(nodes)}>
            {home?.jobs_running ?? "–"}
          </Tile>
          <Tile label="Pending jobs">{home?.jobs_waiting ?? "–"}</Tile>
        </SimpleGrid>
      )}
    </Loaded>
  );
}

/** The mean over all GPUs of nodes that are measured. */
function busyWords(nodes: { gpus: number; utilization?: number | null }[]): string | undefined {
  const measured = nodes.filter((node) => node.utilization != null);
  const gpus = measured.reduce((sum, node) => sum + node.gpus, 0);
  if (gpus === 0) return undefined;
  const busy = measured.reduce((sum, node) => sum + node.gpus * (node.utilization ?? 0), 0) / gpus;
  return `GPU utilisation ${utilizationWords(busy)}`;
}
