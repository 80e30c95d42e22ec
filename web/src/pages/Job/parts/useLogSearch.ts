import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type LogHit, type LogHits, type LogPlace, type LogSearch, searchLog } from "../../../api/logs";

export interface Searching {
  /** The hit that was gone to last, and its number among all. */
  readonly hit: LogHit | null;
  readonly current: number;
  /** Grows whenever somebody goes to a hit, also to the one that is current already. */
  readonly moves: number;
  readonly count: number;
  readonly complete: boolean;
  readonly isGoing: boolean;
  readonly problem: string | null;
  /** Whether this line, by its offset, has a match. */
  readonly isHit: (offset: number) => boolean;
  readonly start: (search: LogSearch) => void;
  /** To the next hit, or to the one before; round at the ends. */
  readonly go: (by: 1 | -1) => void;
}

const NONE: LogHits = { hits: [], complete: true };

/** A search of the log: a new one ends the one before. */
export function useLogSearch(place: LogPlace): Searching {
  const [found, setFound] = useState(NONE);
  const [current, setCurrent] = useState(0);
  const [moves, setMoves] = useState(0);
  const [isGoing, setIsGoing] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const start = useCallback(
    (search: LogSearch) => {
      running.current?.abort();
      const control = new AbortController();
      running.current = control;
      setFound(NONE);
      setCurrent(0);
      setProblem(null);
      setIsGoing(search.text !== "");
      if (search.text === "") return;
      searchLog(place, search, setFound, control.signal)
        .catch((error: Error) => !control.signal.aborted && setProblem(error.message))
        .finally(() => running.current === control && setIsGoing(false));
    },
    [place],
  );
  const offsets = useMemo(() => new Set(found.hits.map((hit) => hit.line_offset)), [found]);
  return {
    hit: found.hits[current] ?? null,
    current,
    moves,
    count: found.hits.length,
    complete: found.complete,
    isGoing,
    problem,
    isHit: (offset) => offsets.has(offset),
    start,
    go: (by) => {
      setMoves((now) => now + 1);
      setCurrent((now) => (found.hits.length ? (now + by + found.hits.length) % found.hits.length : 0));
    },
  };
}
