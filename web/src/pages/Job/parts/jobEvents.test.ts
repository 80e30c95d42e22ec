import { expect, it } from "vitest";
import type { Attempt } from "../../../api/shapes";
import { aJob } from "../../../testing/builders";
import { eventsOf, remarksOn } from "./jobEvents";

const at = (minute: number) => `2026-11-15T12:${String(minute).padStart(2, "0")}:00+00:00`;

function anAttempt(part: Partial<Attempt>): Attempt {
  return {
    id: "a1",
    number: 1,
    compute: "hpc",
    node: "n1",
    state: "finished",
    created_at: at(1),
    started_at: at(2),
    exited_at: null,
    ended_at: null,
    exit_code: null,
    signal: null,
    ending: null,
    problem: null,
    ranks: [],
    ...part,
  };
}

it("tells the story of a job that was lost once and then failed", () => {
  const lost = anAttempt({ ended_at: at(5), ending: "lost", problem: "hpc was not heard of" });
  const failed = anAttempt({
    number: 2,
    created_at: at(6),
    started_at: at(7),
    exited_at: at(8),
    ended_at: at(9),
    exit_code: 3,
    ending: "exit",
  });
  const job = aJob({
    state: "failed",
    queued_at: at(0),
    ended_at: at(9),
    ending: "exit",
    exit_code: 3,
    attempt: 2,
  });
  const told = eventsOf(job, [lost, failed]);
  expect(told.map((event) => event.what)).toEqual([
    "Submitted by mary",
    "Attempt 1: placed on hpc (n1)",
    "Attempt 1: command started",
    "Attempt 1: machine lost",
    "Attempt 2: placed on hpc (n1)",
    "Attempt 2: command started",
    "Attempt 2: command ended, exit status 3",
    "Failed: exit status 3",
  ]);
  expect(told[3]?.why).toBe("hpc was not heard of");
});

it("numbers no attempt where there is only one, and says when it is tried again", () => {
  const job = aJob({ state: "queued", queued_at: at(0), not_before: at(9) });
  const told = eventsOf(job, [anAttempt({ node: "hpc" })]);
  expect(told.map((event) => event.what)).toEqual([
    "Submitted by mary",
    "Placed on hpc",
    "Command started",
    "Retry",
  ]);
});

it("says nothing twice", () => {
  const job = aJob({
    state: "failed",
    ended_at: at(3),
    ending: "exit",
    exit_code: 2,
    problem: "exit status 2",
    reasons: ["Submitted by mary.", "Placed on hpc: its data is there.", "exit status 2"],
  });
  expect(eventsOf(job, []).at(-1)).toEqual({ at: at(3), what: "Failed: exit status 2", why: undefined });
  expect(remarksOn(job)).toEqual(["Placed on hpc: its data is there."]);
});
