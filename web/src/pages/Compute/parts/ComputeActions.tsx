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
    tell(care.mutateAsync("uncordon"), () => notifyDone(`New jobs may be placed on ${compute.name}.`));
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
            <Menu.Item onClick={() => hold("cordon", `Nothing new is placed on ${compute.name}.`)}>
              Cordon: nothing new here
            </Menu.Item>
          )}
          {!compute.cordoned && (
            <Menu.Item onClick={() => hold("drain", `${compute.name} is drained: what runs is let finish.`)}>
              Drain: let what runs finish
            </Menu.Item>
          )}
          <Menu.Item onClick={() => confirm("stop")} disabled={compute.running === 0}>
            Drain and stop what runs…
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={() => confirm("revoke")} disabled={compute.health === "revoked"}>
            Revoke its credential…
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
          ? `${plural(compute.running, "job")} there will be cancelled, and nothing new is placed.`
          : "Its agent is refused from now on and ends. What runs goes on until its time is up and is then placed anew elsewhere."
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
          <Text size="sm">
            Its credential is revoked and it is forgotten. Logs and results of its jobs stay.
          </Text>
          {compute.running > 0 && (
            <Checkbox
              checked={force}
              onChange={(event) => setForce(event.currentTarget.checked)}
              label={`Although ${plural(compute.running, "job")} run there: they are placed anew once they have certainly ended`}
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
