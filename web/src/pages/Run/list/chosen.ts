/** Which runs are selected. Rows are drawn by the table: what is chosen reaches them this way. */
import { createContext } from "react";

interface Choosing {
  readonly ids: readonly string[];
  /** The project of the chosen runs, as far as it is known: only runs of one project are compared. */
  readonly project: string | undefined;
  readonly onChange: (ids: string[]) => void;
}

export const ChosenRuns = createContext<Choosing>({ ids: [], project: undefined, onChange: () => {} });
