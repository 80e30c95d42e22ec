import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, queries, take } from "./client";
import type { TemplateCreate, TemplatePut } from "./shapes";

/** All of them: sites have tens. */
export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: () => take(api.GET("/api/v1/templates", { params: { query: { limit: 1000 } } })),
});

const refresh = () => queries.invalidateQueries({ queryKey: ["templates"] });

export function useCreateTemplate() {
  return useMutation({
    mutationFn: (body: TemplateCreate) => take(api.POST("/api/v1/templates", { body })),
    onSuccess: refresh,
  });
}

export function useChangeTemplate(template: string) {
  return useMutation({
    mutationFn: (body: TemplatePut) =>
      take(api.PUT("/api/v1/templates/{template}", { params: { path: { template } }, body })),
    onSuccess: refresh,
  });
}

export function useRemoveTemplate() {
  return useMutation({
    mutationFn: (template: string) =>
      take(api.DELETE("/api/v1/templates/{template}", { params: { path: { template } } })),
    onSuccess: refresh,
  });
}
