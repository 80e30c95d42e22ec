/** What tabs and the holder of the one event stream say to each other. */

/** From a tab: the whole of what it wants now. A hidden tab wants nothing. */
export interface Wanted {
  readonly kind: "wanted";
  readonly address: string;
  readonly topics: readonly string[];
}

export interface LiveEvent {
  readonly kind: "event";
  readonly topic: string;
  readonly data: unknown;
}

/** Topics that have just begun to stream: whatever happened to them before is not known. */
export interface Begun {
  readonly kind: "begun";
  readonly topics: readonly string[];
}

/** The server cannot replay what was missed: load everything anew. */
export interface Reset {
  readonly kind: "reset";
}

export interface Status {
  readonly kind: "status";
  readonly online: boolean;
}

export type ToTab = LiveEvent | Begun | Reset | Status;
