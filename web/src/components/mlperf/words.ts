/** Results of LoadGen in words. */
import type { MlperfResult, MlperfSetup } from "../../api/shapes";

export const setupWords = ({ servers, storage, protocol }: MlperfSetup): string =>
  `${servers} × ${storage}, ${protocol === "grpc" ? "gRPC" : protocol.toUpperCase()}`;

/** Four figures, as `mill perf table` prints them. */
export const resultWords = (result: MlperfResult | null): string => {
  if (!result) return "not run";
  return result.value === null
    ? "–"
    : Number(result.value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 });
};

export const ratioWords = (ratio: number | null): string => (ratio === null ? "" : `${ratio.toFixed(2)} ×`);

/** What is told of a result when one points at it, or listens. */
export const detailWords = (result: MlperfResult): string =>
  [
    `${result.valid ? "VALID" : "INVALID"}, ${result.model}`,
    result.reason,
    result.p99_ms === null ? "" : `99th percentile ${result.p99_ms.toPrecision(3)} ms`,
    result.ready_seconds === null ? "" : `ready in ${result.ready_seconds.toFixed(2)} s`,
    result.quality === null ? "" : `quality ${(100 * result.quality).toFixed(1)} % of the reference`,
    result.official ? "official durations" : "short run",
  ]
    .filter(Boolean)
    .join(" · ");
