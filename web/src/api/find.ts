import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, take } from "./client";

/** Everything the viewer may see that is called like `text`; the server looks at all of it. */
export const findQuery = (text: string) =>
  queryOptions({
    queryKey: ["find", text],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/find", { params: { query: { q: text, limit: 20 } }, signal })),
    enabled: text.trim() !== "",
    placeholderData: text.trim() === "" ? undefined : keepPreviousData,
    staleTime: 5_000,
  });
