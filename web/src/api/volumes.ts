import { queryOptions, useMutation } from "@tanstack/react-query";
import { refreshCaches } from "./caches";
import { api, take } from "./client";
import { ApiError } from "./problem";
import type { Volume, VolumeChange } from "./shapes";

const DAY = 86_400;
/** How long to wait for the agent's first look at a volume, and for what it clears. */
const LOOK_MILLISECONDS = 15_000;
const CLEAR_MILLISECONDS = 60_000;
const POLL_MILLISECONDS = 400;

export const volumesQuery = queryOptions({
  queryKey: ["volumes"],
  queryFn: () => take(api.GET("/api/v1/volumes", { params: { query: { limit: 1000 } } })),
  // Whether a volume is connected changes without an event.
  refetchInterval: 15_000,
});

export const volumeQuery = (volume: string) =>
  queryOptions({
    queryKey: ["volumes", volume],
    queryFn: () => take(api.GET("/api/v1/volumes/{volume}", { params: { path: { volume } } })),
    refetchInterval: 15_000,
  });

export const tiersQuery = queryOptions({
  queryKey: ["tiers"],
  queryFn: () => take(api.GET("/api/v1/tiers")),
});

export function useChangeVolume() {
  return useMutation({
    mutationFn: ({ volume, ...body }: VolumeChange & { volume: string }) =>
      take(api.PATCH("/api/v1/volumes/{volume}", { params: { path: { volume } }, body })),
    onSettled: refreshCaches,
  });
}

export function usePutLimit() {
  return useMutation({
    mutationFn: ({ volume, project, bytes }: { volume: string; project: string; bytes: number }) => {
      const params = { path: { volume, project } };
      return take(api.PUT("/api/v1/volumes/{volume}/limits/{project}", { params, body: { bytes } }));
    },
    onSettled: refreshCaches,
  });
}

export function useRemoveLimit() {
  return useMutation({
    mutationFn: ({ volume, project }: { volume: string; project: string }) => {
      const params = { path: { volume, project } };
      return take(api.DELETE("/api/v1/volumes/{volume}/limits/{project}", { params }));
    },
    onSettled: refreshCaches,
  });
}

interface Added {
  name: string;
  path: string;
  site: string;
  capacity_bytes: number | null;
  tier: string;
  tier_throughput: number | null;
  tier_price: number | null;
}

export function useAddVolume() {
  return useMutation({ mutationFn: addVolume, onSettled: refreshCaches });
}

export function useRemoveVolume() {
  return useMutation({ mutationFn: removeVolume, onSettled: refreshCaches });
}

/** Waits for its agent's first look; a volume that cannot be used is taken away again, as the command line does. */
async function addVolume(added: Added): Promise<Volume> {
  const limits = { idle_seconds: DAY, high_percent: 90, low_percent: 75 };
  let volume = await take(api.POST("/api/v1/volumes", { body: { ...limits, ...added } }));
  const path = { volume: volume.name };
  const deadline = Date.now() + LOOK_MILLISECONDS;
  while (volume.seen_at === null && Date.now() < deadline) {
    await pause();
    volume = await take(api.GET("/api/v1/volumes/{volume}", { params: { path } }));
  }
  if (volume.problem === null) return volume;
  await take(api.DELETE("/api/v1/volumes/{volume}", { params: { path } }));
  throw new ApiError(`${volume.name} was not added. ${volume.problem}`, 409, "volume_problem");
}

/** Clears what nobody uses, and goes on once the agent has done so. */
async function removeVolume(volume: string): Promise<void> {
  const deadline = Date.now() + CLEAR_MILLISECONDS;
  for (;;) {
    try {
      const params = { path: { volume }, query: { force: true } };
      await take(api.DELETE("/api/v1/volumes/{volume}", { params }));
      return;
    } catch (error) {
      const clearing = error instanceof ApiError && error.details.clearing === true;
      if (!clearing || Date.now() > deadline) throw error;
    }
    await pause();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
}
