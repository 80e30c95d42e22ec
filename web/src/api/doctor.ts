import { queryOptions } from "@tanstack/react-query";
import { apiAddress } from "../lib/base";
import { api, take } from "./client";

/** Asked anew only by hand: it writes to the lake and reads much of the database. */
export const serverDoctorQuery = queryOptions({
  queryKey: ["doctor", "server"],
  queryFn: () => take(api.GET("/api/v1/doctor/server")),
  staleTime: 60_000,
});

/** The support bundle as a file, and what it is to be called. */
export async function fetchSupportBundle(csrf: string): Promise<{ file: Blob; name: string }> {
  const answer = await fetch(apiAddress("/support-bundle"), {
    method: "POST",
    headers: { "X-Mill-CSRF": csrf },
  });
  if (!answer.ok) throw new Error(`The server answered ${answer.status}. See its log.`);
  const given = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "");
  return { file: await answer.blob(), name: given?.[1] ?? "millpond-support.tar.gz" };
}
