import { Button, Menu } from "@mantine/core";
import { IconClock } from "@tabler/icons-react";
import type { Volume } from "../../../api/shapes";
import { useChangeVolume } from "../../../api/volumes";
import { notifyError } from "../../../components/notify";
import { IDLE_TIMES } from "./times";

/** How long an unused commit stays, to change. */
export function IdleTime({ volume }: { volume: Volume }) {
  const change = useChangeVolume();
  const choose = (idle_seconds: number) =>
    change.mutate({ volume: volume.name, idle_seconds }, { onError: notifyError });
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconClock size={14} aria-hidden />}
          loading={change.isPending}
          aria-label={`Idle time of ${volume.name}`}
        >
          Idle time
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Clear what nobody used for</Menu.Label>
        {IDLE_TIMES.map(([seconds, words]) => (
          <Menu.Item key={seconds} onClick={() => choose(seconds)} disabled={seconds === volume.idle_seconds}>
            {words}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
