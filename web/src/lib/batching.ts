/** Requests that are made at the same moment, sent as one: a page of charts asks for each, and the server answers once. */

interface Waiting<Answer> {
  keys: readonly string[];
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * `send` gets the keys of up to `most` asks for the same `about`; `pick` takes from its answer what one asked for.
 */
export function batching<About, Answer>(
  send: (about: About, keys: string[]) => Promise<Answer>,
  pick: (answer: Answer, keys: readonly string[]) => Answer,
  most: (about: About) => number,
) {
  const queues = new Map<string, { about: About; waiting: Waiting<Answer>[] }>();

  async function flush(name: string): Promise<void> {
    const queue = queues.get(name);
    queues.delete(name);
    if (!queue) return;
    for (const part of parts(queue.waiting, Math.max(1, most(queue.about)))) {
      const keys = [...new Set(part.flatMap((one) => one.keys))];
      send(queue.about, keys).then(
        (answer) => {
          for (const one of part) one.resolve(pick(answer, one.keys));
        },
        (error) => {
          for (const one of part) one.reject(error);
        },
      );
    }
  }

  return (about: About, keys: readonly string[]): Promise<Answer> => {
    const name = JSON.stringify(about);
    const queue = queues.get(name) ?? { about, waiting: [] };
    if (!queues.has(name)) {
      queues.set(name, queue);
      setTimeout(() => void flush(name), 0);
    }
    return new Promise((resolve, reject) => queue.waiting.push({ keys, resolve, reject }));
  };
}

/** In their order, each part with at most so many keys, or one ask that has more. */
function parts<Answer>(waiting: readonly Waiting<Answer>[], most: number): Waiting<Answer>[][] {
  const found: Waiting<Answer>[][] = [];
  let room = 0;
  for (const one of waiting) {
    if (one.keys.length > room || found.length === 0) {
      found.push([]);
      room = most;
    }
    found.at(-1)?.push(one);
    room -= one.keys.length;
  }
  return found;
}

/** Runs so many of the given tasks at once; the others wait in their order. */
export function atMost(count: number) {
  let active = 0;
  const waiting: (() => void)[] = [];
  return async <Answer>(task: () => Promise<Answer>): Promise<Answer> => {
    if (active >= count) await new Promise<void>((resolve) => waiting.push(resolve));
    else active++;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else active--;
    }
  };
}
