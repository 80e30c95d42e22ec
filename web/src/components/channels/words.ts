import type { Delivery } from "../../api/shapes";

/** How a message went, in a word or two. */
export function stateWords({ state, attempts }: Pick<Delivery, "state" | "attempts">): string {
  if (state === "sent") return "sent";
  if (state === "gave-up") return "given up";
  if (state === "dropped") return "dropped";
  return attempts > 0 ? "failed, tried again" : "waiting";
}
