import { render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { type Bindings, useKeyboard } from "./useKeyboard";

function Keys({ bindings, enabled = true }: { bindings: Bindings; enabled?: boolean }) {
  useKeyboard(bindings, enabled);
  return <input aria-label="field" />;
}

it("knows single keys and sequences", async () => {
  const go = vi.fn();
  const help = vi.fn();
  render(<Keys bindings={{ "g d": go, "?": help }} />);
  await userEvent.keyboard("gd");
  await userEvent.keyboard("?");
  await userEvent.keyboard("d");
  expect(go).toHaveBeenCalledTimes(1);
  expect(help).toHaveBeenCalledTimes(1);
});

it("does nothing while somebody types, or when turned off", async () => {
  const help = vi.fn();
  const page = render(<Keys bindings={{ "?": help }} />);
  await userEvent.type(page.getByLabelText("field"), "?");
  page.rerender(<Keys bindings={{ "?": help }} enabled={false} />);
  page.getByLabelText("field").blur();
  await userEvent.keyboard("?");
  expect(help).not.toHaveBeenCalled();
});
