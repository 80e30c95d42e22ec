import { Alert, Button, Modal, Select, Stack, Stepper, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertTriangle, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { joinTokensQuery, useCreateJoinToken } from "../../../api/computes";
import { useSession } from "../../../api/session";
import { sitesQuery } from "../../../api/topology";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { TextLink } from "../../../components/TextLink";
import { attachCommands } from "./words";

const HOUR = 3600;
const DRIVERS = [
  { value: "process", label: "A machine: plain processes" },
  { value: "podman", label: "A machine: containers by Podman" },
  { value: "slurm", label: "A Slurm cluster" },
  { value: "kubernetes", label: "A Kubernetes cluster" },
];

const PLACES: Record<string, string> = {
  process: "On the machine:",
  podman: "On the machine:",
  kubernetes: "Where kubectl speaks to the cluster; the agent runs in it:",
};

interface Choice {
  site: string;
  driver: string;
  name: string;
  server: string;
  image: string;
  mount: string;
}

/** For site administrators. */
export function AttachButton() {
  const [opened, dialog] = useDisclosure(false);
  if (!useSession()?.user.is_admin) return null;
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={dialog.open}>
        Attach
      </Button>
      {opened && <Attach onClose={dialog.close} />}
    </>
  );
}

/** Asks what is to be attached, then shows the lines to paste there and waits until its agent has come in. */
export function Attach({ onClose }: { onClose: () => void }) {
  const sites = useQuery(sitesQuery);
  const create = useCreateJoinToken();
  const names = sites.data?.items.map((site) => site.name) ?? [];
  const form = useForm<Choice>({
    initialValues: {
      site: "",
      driver: "process",
      name: "",
      server: window.location.origin,
      image: "",
      mount: "/mill=pvc:millpond",
    },
  });
  const chosen = { ...form.values, site: form.values.site || names[0] || "" };
  const submit = form.onSubmit(() => create.mutate({ site: chosen.site, seconds: HOUR }));
  return (
    <Modal
      opened
      onClose={onClose}
      title="Attach compute"
      size="xl"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stepper active={create.data ? 1 : 0} size="sm" mb="md">
        <Stepper.Step label="Describe it" />
        <Stepper.Step label="Start the agent" />
      </Stepper>
      {create.data ? (
        <Lines chosen={chosen} secret={create.data.secret} token={create.data.id} onClose={onClose} />
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <Select label="Engine" data={DRIVERS} allowDeselect={false} {...form.getInputProps("driver")} />
            <Select
              label="Site"
              description="Jobs here prefer volumes at the same site."
              data={names}
              allowDeselect={false}
              {...form.getInputProps("site")}
              value={chosen.site}
            />
            <TextInput
              label="Name"
              placeholder={chosen.driver === "kubernetes" ? "name of the site" : "host name"}
              {...form.getInputProps("name")}
            />
            <TextInput
              label="URL of this server from there"
              description="The agent connects to this URL. Nothing connects to the agent."
              required
              {...form.getInputProps("server")}
              error={isLoopback(chosen.server) && "Other machines cannot reach this address."}
            />
            {chosen.driver === "kubernetes" && (
              <>
                <TextInput
                  label="Image"
                  description="Image with Millpond, for the agent. Also the default image of jobs."
                  placeholder="registry.example/millpond:0.3.0"
                  required
                  {...form.getInputProps("image")}
                />
                <TextInput
                  label="Storage"
                  description="Storage shared by agent and jobs: PATH=pvc:CLAIM, PATH=nfs:SERVER:/EXPORT or PATH=host."
                  required
                  {...form.getInputProps("mount")}
                />
              </>
            )}
            {create.error && <ErrorNotice error={create.error} />}
            <Button type="submit" loading={create.isPending} disabled={!chosen.site}>
              Create join token
            </Button>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function isLoopback(address: string): boolean {
  return URL.canParse(address) && ["127.0.0.1", "localhost", "[::1]"].includes(new URL(address).hostname);
}

interface LinesProps {
  chosen: Choice;
  secret: string;
  token: string;
  onClose: () => void;
}

function Lines({ chosen, secret, token, onClose }: LinesProps) {
  const tokens = useInfiniteQuery({ ...joinTokensQuery, refetchInterval: 2_000 });
  const used = tokens.data?.pages.flatMap((page) => page.items).find((one) => one.id === token);
  return (
    <Stack>
      <Alert
        color="orange"
        icon={<IconAlertTriangle />}
        title="Copy these lines now. The token is not shown again."
      >
        Valid for one agent at {chosen.site}, for one hour.
      </Alert>
      <Text size="sm">{PLACES[chosen.driver] ?? "On the machine that may submit work there:"}</Text>
      {attachCommands(chosen, secret).map((command) => (
        <CommandLine key={command} command={command} wrap />
      ))}
      <Text size="sm" role="status">
        {used?.used_at ? (
          <>
            {used.compute ? (
              <TextLink to="/compute/$compute" params={{ compute: used.compute }}>
                {used.compute}
              </TextLink>
            ) : (
              "An agent"
            )}{" "}
            has come in.
          </>
        ) : (
          "Waiting for its agent…"
        )}
      </Text>
      <Button variant={used?.used_at ? "filled" : "default"} onClick={onClose}>
        {used?.used_at ? "Done" : "Close"}
      </Button>
    </Stack>
  );
}
