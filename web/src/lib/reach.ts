/** Whether the server answered the last request; the page shows a banner while it does not. */

let reachable = true;
const listeners = new Set<() => void>();

export function reportReach(answered: boolean): void {
  if (answered === reachable) return;
  reachable = answered;
  for (const listener of listeners) listener();
}

export function isReachable(): boolean {
  return reachable;
}

export function onReachChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
