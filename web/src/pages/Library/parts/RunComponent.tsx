/** Runs one component with chosen data: a form made from its schema. */
import { Autocomplete, Button, Modal, Stack, Text, TextInput } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { datasetsQuery } from "../../../api/datasets";
import { useRunText } from "../../../api/flows";
import { itemsOf } from "../../../api/paging";
import type { LibraryComponent } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { ParamField } from "../../Flow/editor/inspector/ParamField";
import { oneStepFlow } from "./oneStepFlow";

interface Props {
  project: string;
  component: LibraryComponent;
}

export function RunComponent(props: Props) {
  const [opened, setOpened] = useState(false);
  return (
    <>
      <Button leftSection={<IconPlayerPlay size={16} />} onClick={() => setOpened(true)}>
        Run
      </Button>
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        size="lg"
        title={`Run ${props.component.title || props.component.name}`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Form {...props} />
      </Modal>
    </>
  );
}

function Form({ project, component }: Props) {
  const [name, setName] = useState(`run-${component.name}`);
  const [inputs, setInputs] = useState<Record<string, string>>({});
  const [params, setParams] = useState<Record<string, unknown>>({});
  const datasets = itemsOf(useInfiniteQuery(datasetsQuery({ project })).data).map(
    (one) => `${one.name}@main`,
  );
  const start = useRunText(project);
  const navigate = useNavigate();
  const submit = () =>
    start.mutate(
      { name, text: oneStepFlow({ name, component, inputs, params }) },
      {
        onSuccess: (run) =>
          void navigate({ to: "/projects/$project/flow-runs/$run", params: { project, run: run.id } }),
      },
    );
  const isMissing = component.inputs.some((port) => port.required && !inputs[port.name]);
  return (
    <Stack>
      {component.inputs.map((port) => (
        <Autocomplete
          key={port.name}
          size="xs"
          label={port.name}
          description={[port.type, port.help].filter(Boolean).join(" · ")}
          withAsterisk={port.required}
          placeholder="dataset@branch"
          data={datasets}
          value={inputs[port.name] ?? ""}
          onChange={(text) => setInputs((before) => ({ ...before, [port.name]: text }))}
        />
      ))}
      {component.params.map((param) => (
        <ParamField
          key={param.name}
          param={param}
          value={params[param.name]}
          onChange={(value) => setParams((before) => ({ ...before, [param.name]: value }))}
        />
      ))}
      <TextInput
        size="xs"
        label="Saved as the flow"
        description="It runs as a flow of one step, which you can run again or extend."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {start.error != null && <ErrorNotice error={start.error} />}
      {isMissing && (
        <Text size="sm" c="dimmed">
          Choose a dataset for each required input.
        </Text>
      )}
      <Button onClick={submit} loading={start.isPending} disabled={isMissing || !name}>
        Start
      </Button>
    </Stack>
  );
}
