/** Calls that come in bursts, made at once and then at most once per interval for each key. */
export class KeyedThrottle {
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly waiting = new Map<string, () => void>();

  constructor(private readonly milliseconds: number) {}

  call(key: string, action: () => void): void {
    if (this.timers.has(key)) {
      this.waiting.set(key, action);
      return;
    }
    this.timers.set(
      key,
      setTimeout(() => this.release(key), this.milliseconds),
    );
    action();
  }

  cancel(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    this.waiting.clear();
  }

  private release(key: string): void {
    this.timers.delete(key);
    const action = this.waiting.get(key);
    this.waiting.delete(key);
    if (action) this.call(key, action);
  }
}
