import { Button, Checkbox, Menu, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { type Care, useCareForCompute, useDetachCompute } from "../../../api/computes";
import { useSession } from "../../../api/session";
import type { Compute } from "../../../api/shapes";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { notifyDone, notifyUndo, tell } from "../../../components/notify";
import { plural } from "../../../lib/quantity";

type Asked = "stop" | "revoke" | "detach";

/** What a site administrator may do to a compute. */
export function ComputeActions({ compute }: { compute: Compute }) {
  const care = useCareForCompute(compute.name);
  const [asked, setAsked] = useState<Asked>("stop");
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  const uncordon = () =>
    tell(care.mutateAsync("uncordon"), () => notifyDone(`${compute.name} accepts new jobs.`));
  const hold = (how: Care, words: string) => tell(care.mutateAsync(how), () => notifyUndo(words, uncordon));
  const confirm = (what: Asked) => {
    setAsked(what);
    dialog.open();
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<IconChevronDown size={16} />} loading={care.isPending}>
            Actions
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {compute.cordoned ? (
            <Menu.Item onClick={uncordon}>Take new jobs again</Menu.Item>
          ) : (
            <Menu.Item onClick={() => hold("cordon", `${compute.name} accepts no new jobs.`)}>
              Cordon: accept no new jobs
            </Menu.Item>
          )}
          {!compute.cordoned && (
            <Menu.Item onClick={() => hold("drain", `Draining ${compute.name}. Running jobs finish.`)}>
              Drain: let running jobs finish
            </Menu.Item>
          )}
          <Menu.Item onClick={() => confirm("stop")} disabled={compute.running === 0}>
            Drain and stop running jobs…
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={() => confirm("revoke")} disabled={compute.health === "revoked"}>
            Revoke credential…
          </Menu.Item>
          <Menu.Item onClick={() => confirm("detach")}>Detach…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {opened && asked === "detach" && <Detach compute={compute} onClose={dialog.close} />}
      {opened && asked !== "detach" && <Ending compute={compute} how={asked} onClose={dialog.close} />}
    </>
  );
}

interface Props {
  compute: Compute;
  onClose: () => void;
}

function Ending({ compute, how, onClose }: Props & { how: "stop" | "revoke" }) {
  const care = useCareForCompute(compute.name);
  const stop = how === "stop";
  return (
    <ConfirmByName
      opened
      onClose={onClose}
      title={stop ? `Stop everything on ${compute.name}?` : `Revoke the credential of ${compute.name}?`}
      name={compute.name}
      explanation={
        stop
          ? `${plural(compute.running, "job")} will be cancelled. No new ones start.`
          : "The agent is refused from now on. Running jobs stop when their lease expires and are requeued elsewhere."
      }
      action={stop ? "Stop them" : "Revoke"}
      onConfirm={() => care.mutate(how, { onSuccess: onClose })}
      busy={care.isPending}
      error={care.error}
    />
  );
}

function Detach({ compute, onClose }: Props) {
  const detach = useDetachCompute(compute.name);
  const navigate = useNavigate();
  const [force, setForce] = useState(false);
  return (
    <ConfirmByName
      opened
      onClose={onClose}
      title={`Detach ${compute.name}?`}
      name={compute.name}
      explanation={
        <Stack gap="xs">
          <Text size="sm">Revokes its credential and removes it. Logs and results of its jobs stay.</Text>
          {compute.running > 0 && (
            <Checkbox
              checked={force}
              onChange={(event) => setForce(event.currentTarget.checked)}
              label={`Detach with ${plural(compute.running, "running job")}. They are requeued once they have ended.`}
            />
          )}
        </Stack>
      }
      action="Detach"
      onConfirm={() => detach.mutate(force, { onSuccess: () => void navigate({ to: "/compute" }) })}
      busy={detach.isPending}
      error={detach.error}
    />
  );
}
