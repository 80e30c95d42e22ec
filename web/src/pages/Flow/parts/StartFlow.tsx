/** The Run button: a form made of the flow's parameters. */
import { Button, Modal, Select, Stack, Switch, Text } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useStartFlow } from "../../../api/flows";
import { queuesQuery } from "../../../api/queues";
import type { ComponentParam, Flow } from "../../../api/shapes";
import { templatesQuery } from "../../../api/templates";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { readGraph } from "../../../lib/flow/graph";
import { ParamField } from "../editor/inspector/ParamField";

interface Props {
  flow: Flow;
  isChanged: boolean;
  /** Saves what was changed; null if that was refused. */
  onSave: () => Promise<Flow | null>;
}

export function StartFlow({ flow, isChanged, onSave }: Props) {
  const [opened, setOpened] = useState(false);
  const [isOld, setIsOld] = useState(false);
  const [isSaving, setIsSaving] = useState(false);
  const save = () => {
    setIsSaving(true);
    void onSave().then((saved) => {
      setIsSaving(false);
      if (!saved) setOpened(false);
    });
  };
  return (
    <>
      <Button leftSection={<IconPlayerPlay size={16} />} onClick={() => setOpened(true)}>
        Run
      </Button>
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title={`Run ${flow.name}`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {isChanged ? (
          <Stack>
            <Text size="sm">Your changes are not saved yet. A run uses a saved version.</Text>
            <Button loading={isSaving} onClick={save}>
              Save, then run
            </Button>
            <Button variant="default" onClick={() => setIsOld(true)} display={isOld ? "none" : undefined}>
              Run version {flow.version} as it was saved
            </Button>
            {isOld && <Form flow={flow} />}
          </Stack>
        ) : (
          <Form flow={flow} />
        )}
      </Modal>
    </>
  );
}

function Form({ flow }: { flow: Flow }) {
  const place = { project: flow.project, flow: flow.name };
  const params = Object.entries(readGraph(flow.text ?? "").params).map(([name, one]) => paramOf(name, one));
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [on, setOn] = useState<string | null>(null);
  const [remember, setRemember] = useState(true);
  const start = useStartFlow(place);
  const navigate = useNavigate();
  const templates = useQuery(templatesQuery).data?.items ?? [];
  const queues = useQuery(queuesQuery).data?.items ?? [];
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  const submit = () =>
    start.mutate(
      { version: flow.version, params: given, on, remember },
      {
        onSuccess: (run) =>
          void navigate({
            to: "/projects/$project/flow-runs/$run",
            params: { project: flow.project, run: run.id },
          }),
      },
    );
  return (
    <Stack>
      {params.map((param) => (
        <ParamField
          key={param.name}
          param={param}
          value={values[param.name]}
          onChange={(value) => setValues((before) => ({ ...before, [param.name]: value }))}
        />
      ))}
      <Select
        size="xs"
        label="Run every step on"
        placeholder="as the flow says"
        clearable
        data={[...queues, ...templates].map(({ name }) => name)}
        value={on}
        onChange={setOn}
      />
      <Switch
        size="xs"
        label="Use results of earlier runs where nothing changed"
        checked={remember}
        onChange={(event) => setRemember(event.currentTarget.checked)}
      />
      {start.error != null && <ErrorNotice error={start.error} />}
      <Button onClick={submit} loading={start.isPending}>
        Start
      </Button>
    </Stack>
  );
}

function paramOf(name: string, settings: Record<string, unknown>): ComponentParam {
  const hasDefault = settings.default !== undefined;
  return {
    ...(settings as Partial<ComponentParam>),
    name,
    type: String(settings.type ?? "str"),
    required: !hasDefault && settings.optional !== true,
    choices: Array.isArray(settings.choices) ? settings.choices : [],
    help: String(settings.help ?? ""),
  };
}
