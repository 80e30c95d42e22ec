/** Files that runs have kept, as far as a comparison shows them. */
import { queryOptions } from "@tanstack/react-query";
import { apiAddress } from "../lib/base";
import { api, take } from "./client";
import type { RunPlace } from "./runs";

export interface LoggedImage {
  /** What it was logged as. */
  readonly key: string;
  readonly step: number;
  readonly path: string;
}

const IMAGE = /\.(png|jpe?g|gif|webp|svg|bmp)$/i;
const STEPPED = /^(?:images|figures)\/(.+)\/(-?\d+)\.\w+$/;
const MOST_FILES = 5000;

/** An image among the artifacts; null for other files. Those without a step count as of step 0. */
export function readImage(path: string): LoggedImage | null {
  if (!IMAGE.test(path)) return null;
  const found = STEPPED.exec(path);
  return found ? { key: found[1] ?? path, step: Number(found[2]), path } : { key: path, step: 0, path };
}

export const imagesQuery = (place: RunPlace) =>
  queryOptions({
    queryKey: ["runs", "images", place.run, place.project],
    queryFn: async () => {
      const images: LoggedImage[] = [];
      let cursor: string | undefined;
      let seen = 0;
      do {
        const query = { limit: 1000, cursor };
        const page = await take(
          api.GET("/api/v1/projects/{project}/runs/{run}/artifacts", { params: { path: place, query } }),
        );
        images.push(...page.items.flatMap(({ path }) => readImage(path) ?? []));
        seen += page.items.length;
        cursor = page.next ?? undefined;
      } while (cursor && seen < MOST_FILES);
      return images;
    },
  });

/** Where the bytes of an artifact are. */
export function artifactAddress({ project, run }: RunPlace, path: string): string {
  const [p, r] = [project, run].map(encodeURIComponent);
  return apiAddress(
    `/projects/${p}/runs/${r}/artifacts/${path.split("/").map(encodeURIComponent).join("/")}`,
  );
}
