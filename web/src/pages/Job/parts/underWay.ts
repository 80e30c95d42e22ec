import type { Job } from "../../../api/shapes";
import { isFinished } from "./states";

/** For queries of one job: its ledger grows without an event until it has ended. */
export const WhileUnderWay = {
  refetchInterval: ({ state }: { state: { data?: Job } }) =>
    state.data && !isFinished(state.data.state) ? 10_000 : (false as const),
};
