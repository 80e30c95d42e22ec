/** What happened to a job, in order: from its own times and those of its attempts. */
import type { Attempt, Job } from "../../../api/shapes";
import { endingWords } from "./states";

export interface JobEvent {
  at: string;
  what: string;
  /** Why, as far as somebody said so. */
  why?: string;
}

/** Oldest first. Attempts are numbered where there was more than one. */
export function eventsOf(job: Job, attempts: Attempt[]): JobEvent[] {
  const several = attempts.length > 1;
  const events = [
    { at: job.queued_at, what: `Submitted by ${job.created_by}` },
    ...attempts.flatMap((attempt) => attemptEvents(attempt, several ? `Attempt ${attempt.number}: ` : "")),
  ];
  if (job.not_before && !job.ended_at) events.push({ at: job.not_before, what: "Retry" });
  if (job.ended_at) events.push({ at: job.ended_at, what: lastWords(job), why: whyOf(job) });
  if (job.deleted_at) events.push({ at: job.deleted_at, what: "Moved to the bin" });
  // A stable sort: what has one time stays in the order in which it happened.
  return events.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

function attemptEvents(attempt: Attempt, prefix: string): JobEvent[] {
  const where = attempt.node === attempt.compute ? attempt.compute : `${attempt.compute} (${attempt.node})`;
  const events: JobEvent[] = [{ at: attempt.created_at, what: `${prefix}placed on ${where}` }];
  if (attempt.started_at) events.push({ at: attempt.started_at, what: `${prefix}command started` });
  if (attempt.exited_at) {
    events.push({ at: attempt.exited_at, what: `${prefix}command ended, ${exitWords(attempt)}` });
  }
  if (attempt.ended_at && attempt.ending && !attempt.exited_at) {
    events.push({ at: attempt.ended_at, what: `${prefix}${endingWords(attempt)}`, why: whyOf(attempt) });
  }
  return events.map((event) => ({ ...event, what: capital(event.what) }));
}

/** What is known beyond how it ended. */
function whyOf(one: Job | Attempt): string | undefined {
  return one.problem && one.problem !== endingWords(one) ? one.problem : undefined;
}

/** What the server said of it beside that: where it was put and why, what the engine told. */
export function remarksOn(job: Job): string[] {
  const said = [job.problem, endingWords(job), `Submitted by ${job.created_by}.`];
  return job.reasons.filter((reason) => !said.includes(reason));
}

function exitWords(attempt: Attempt): string {
  if (attempt.exit_code !== null) return `exit status ${attempt.exit_code}`;
  return attempt.signal === null ? "exit status unknown" : `signal ${attempt.signal}`;
}

function lastWords(job: Job): string {
  const how = endingWords(job);
  return how ? `${capital(job.state)}: ${how}` : capital(job.state);
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
