/** Short messages in the corner, read out politely. */
import { Anchor, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { ApiError } from "../api/problem";

const CLOSE = { "aria-label": "Close" };

export function notifyDone(message: string): void {
  notifications.show({ message, color: "green", closeButtonProps: CLOSE });
}

/** It was done, but somebody should know this. */
export function notifyWarning(message: string): void {
  notifications.show({ message, color: "orange", autoClose: 20_000, closeButtonProps: CLOSE });
}

/** What was done, with a way back. */
export function notifyUndo(message: string, undo: () => void): void {
  const id = notifications.show({
    color: "gray",
    autoClose: 10_000,
    closeButtonProps: CLOSE,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">{message}</Text>
        <Anchor
          component="button"
          size="sm"
          fw={600}
          onClick={() => {
            notifications.hide(id);
            undo();
          }}
        >
          Undo
        </Anchor>
      </Group>
    ),
  });
}

/** Several things were asked for, and some could not be done: why, the first few. */
export function notifyPartly(done: number, problems: readonly string[]): void {
  const shown = problems.slice(0, 3);
  const rest = problems.length - shown.length;
  notifications.show({
    color: "orange",
    title: `${problems.length} of ${done + problems.length} could not be changed.`,
    message: [...shown, ...(rest > 0 ? [`And ${rest} more.`] : [])].join(" "),
    autoClose: 20_000,
    closeButtonProps: CLOSE,
  });
}

export function notifyError(error: unknown): void {
  const known = error instanceof ApiError ? error : null;
  notifications.show({
    color: "red",
    title: error instanceof Error ? error.message : "Something went wrong.",
    message: [known?.hint, known?.requestId && `Request ${known.requestId}`].filter(Boolean).join(" "),
    autoClose: 12_000,
    closeButtonProps: CLOSE,
  });
}

/**
 * Says how a change ended. Given the promise rather than callbacks of the mutation, since those are forgotten when
 * the button goes before the answer comes: the row of a deleted job does.
 */
export function tell<Answer>(
  asked: Promise<Answer>,
  done: (answer: Answer) => void = () => {},
): Promise<void> {
  return asked.then(done, notifyError);
}
