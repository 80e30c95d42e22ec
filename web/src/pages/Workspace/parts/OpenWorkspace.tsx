import {
  Button,
  Checkbox,
  Modal,
  NumberInput,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useRouter } from "@tanstack/react-router";
import type { Workspace } from "../../../api/shapes";
import { useOpenSession } from "../../../api/workspaceSessions";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { shellQuote } from "../../../lib/names";
import { DataRows } from "../../Job/parts/DataRows";
import { OnSelect } from "../../Job/parts/OnSelect";
import {
  EMPTY_SESSION,
  SESSION_KINDS,
  type SessionForm,
  sessionCommand,
  sessionRequest,
} from "./sessionDraft";
import { showSession } from "./showSession";

interface Props {
  workspace: Workspace;
  onClose: () => void;
}

const TOLD: Readonly<Record<SessionForm["kind"], string>> = {
  lab: "Notebooks, terminals and files in the browser.",
  code: "VS Code in the browser. The compute or the image must have code-server.",
  shell: "A terminal on this page.",
};

/** What to open it as and what that needs; the session opens in a tab of its own. */
export function OpenWorkspace({ workspace, onClose }: Props) {
  const router = useRouter();
  const open = useOpenSession({ project: workspace.project, workspace: workspace.name });
  const form = useForm<SessionForm>({ initialValues: EMPTY_SESSION });
  const { kind, image } = form.values;
  const submit = form.onSubmit((values) => {
    // The click itself opens the tab: browsers stop windows that come later.
    const tab = window.open("about:blank", "_blank");
    open.mutate(sessionRequest(values), {
      onSuccess: ({ job }) => {
        showSession(router, { project: workspace.project, workspace: workspace.name, job }, tab);
        onClose();
      },
      onError: () => tab?.close(),
    });
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Open ${workspace.name}`}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <form onSubmit={submit}>
        <Stack>
          <SegmentedControl
            aria-label="Open it as"
            data={[...SESSION_KINDS]}
            value={kind}
            onChange={(value) => form.setFieldValue("kind", value as SessionForm["kind"])}
          />
          <Text size="sm" c="dimmed">
            {TOLD[kind]} The workspace is its home. Opening it again finds the running one.
          </Text>
          <OnSelect
            description="Template or queue. It fills in what you leave empty."
            value={form.values.on}
            onChange={(on) => form.setFieldValue("on", on)}
          />
          <SimpleGrid cols={3}>
            <NumberInput label="CPUs" min={0} allowDecimal={false} {...form.getInputProps("cpu")} />
            <NumberInput label="Memory (GB)" min={0} {...form.getInputProps("memoryGb")} />
            <NumberInput label="GPUs" min={0} decimalScale={2} {...form.getInputProps("gpus")} />
          </SimpleGrid>
          <TextInput
            label="Image"
            description="Container image. Empty: the compute's default."
            {...form.getInputProps("image")}
          />
          {kind === "lab" && !image.trim() && (
            <Checkbox
              label="Install JupyterLab for it"
              description="For computes without it. Takes a minute or two the first time at a site."
              {...form.getInputProps("install", { type: "checkbox" })}
            />
          )}
          <DataRows
            project={workspace.project}
            inputs={form.values.inputs}
            onChange={(inputs) => form.setFieldValue("inputs", inputs)}
          />
          {open.error && <ErrorNotice error={open.error} />}
          <Button type="submit" loading={open.isPending}>
            Open
          </Button>
          <CommandLine command={sessionCommand(workspace.name, form.values)} wrap />
          <Text size="sm" c="dimmed">
            With ssh, scp or VS Code on your machine:
          </Text>
          <CommandLine command={`mill ssh-config --write ${shellQuote(workspace.name)}`} />
        </Stack>
      </form>
    </Modal>
  );
}
