import { act, renderHook } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { useTrail } from "./useTrail";

it("leads on, back, and to where one was before", () => {
  const seen = renderHook(({ page }) => useTrail("jobs", page), { initialProps: { page: 1 } });
  expect(seen.result.current).toMatchObject({ cursor: undefined, number: 1 });
  let next = 0;
  act(() => {
    next = seen.result.current.on("after-100");
  });
  seen.rerender({ page: next });
  expect(seen.result.current).toMatchObject({ cursor: "after-100", number: 2 });
  act(() => {
    next = seen.result.current.on("after-200");
  });
  seen.rerender({ page: next });
  expect(seen.result.current).toMatchObject({ cursor: "after-200", number: 3 });
  const back = renderHook(() => useTrail("jobs", 2));
  expect(back.result.current).toMatchObject({ cursor: "after-100", number: 2 });
});

it("begins at the beginning where nobody knows the way", () => {
  const seen = renderHook(() => useTrail("another list", 7));
  expect(seen.result.current).toMatchObject({ cursor: undefined, number: 1 });
});

it("is found again after a reload", async () => {
  const before = renderHook(() => useTrail("datasets", 1));
  act(() => {
    before.result.current.on("after-50");
  });
  vi.resetModules();
  const reloaded = await import("./useTrail");
  const seen = renderHook(() => reloaded.useTrail("datasets", 2));
  expect(seen.result.current).toMatchObject({ cursor: "after-50", number: 2 });
});
