/** `37 %`; a dash where nobody measures. */
export function utilizationWords(percent: number | null | undefined): string {
  return percent == null ? "–" : `${Math.round(percent)} %`;
}

/** `4 GPUs in 2 jobs`; `none` where nothing waits. */
export function pendingWords(gpus: number, jobs: number): string {
  if (jobs === 0) return "none";
  return `${gpus} ${gpus === 1 ? "GPU" : "GPUs"} in ${jobs} ${jobs === 1 ? "job" : "jobs"}`;
}
