/** Trials as charts need them. */
import type { Search, SearchObjective, Trial } from "../../../api/shapes";
import type { ComparedValues } from "../../Compare/fields";

/** The value of an objective: the final one, or the newest of a trial that runs. */
export function objectiveValue(
  trial: Trial,
  objectives: readonly SearchObjective[],
  place: number,
): number | null {
  return trial.values[place] ?? trial.newest[objectives[place]?.metric ?? ""] ?? null;
}

export interface BestPoint {
  readonly number: number;
  /** The best value of all trials that succeeded up to this one. */
  readonly best: number;
}

/** How the best value of an objective became better, a point for each trial that has succeeded. */
export function bestSoFar(trials: readonly Trial[], objective: SearchObjective, place: number): BestPoint[] {
  const points: BestPoint[] = [];
  let best: number | null = null;
  for (const trial of trials) {
    const value = trial.values[place];
    if (trial.state !== "succeeded" || value === undefined) continue;
    const isBetter: boolean =
      best === null || (objective.direction === "minimize" ? value < best : value > best);
    best = isBetter ? value : best;
    points.push({ number: trial.number, best: best as number });
  }
  return points;
}

/** Trials with a value, in the form in which runs are compared. */
export function comparedTrials(search: Search, trials: readonly Trial[], color: string): ComparedValues[] {
  return trials.flatMap((trial) => {
    const values = search.objectives.map((_, place) => objectiveValue(trial, search.objectives, place));
    if (search.objectives.length > 0 && values.some((value) => value === null)) return [];
    const summaries = Object.fromEntries(
      search.objectives.map(({ metric }, place) => {
        const value = values[place] as number;
        return [metric, { last: value, min: value, max: value }];
      }),
    );
    const run = {
      id: trial.run ?? "",
      project: search.project,
      name: `Trial ${trial.number}`,
      params: trial.params,
      tags: {},
      summaries,
    };
    return { run, color };
  });
}
