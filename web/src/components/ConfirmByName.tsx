import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { ErrorNotice } from "./ErrorNotice";

interface Props {
  opened: boolean;
  onClose: () => void;
  title: string;
  name: string;
  explanation: ReactNode;
  action: string;
  onConfirm: () => void;
  busy: boolean;
  error: unknown;
}

/** For what cannot be taken back: the button works once the name has been typed. */
export function ConfirmByName(props: Props) {
  const [typed, setTyped] = useState("");
  return (
    <Modal
      opened={props.opened}
      onClose={props.onClose}
      title={props.title}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === props.name) props.onConfirm();
        }}
      >
        <Stack>
          <Text size="sm">{props.explanation}</Text>
          <TextInput
            label={`Type ${props.name} to confirm`}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
          {props.error != null && <ErrorNotice error={props.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={props.onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red.9" disabled={typed !== props.name} loading={props.busy}>
              {props.action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
