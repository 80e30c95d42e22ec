/** The chosen step as a form. Every field writes one place of the text. */
import { ActionIcon, Alert, Group, Stack, Text, Title, Tooltip } from "@mantine/core";
import { IconBook, IconCopy, IconTrash, IconX } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { componentOf } from "../library";
import type { StepForm } from "./form";
import { Inputs } from "./Inputs";
import { Outputs } from "./Outputs";
import { Params } from "./Params";
import { RunOptions } from "./RunOptions";
import { SettledInput } from "./SettledInput";
import { StepBasics } from "./StepBasics";

interface Props extends StepForm {
  project: string;
  problem?: string;
  onRename: (name: string) => void;
  onCopy: () => void;
  onRemove: () => void;
  onClose: () => void;
}

const STEP_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const KINDS = { dataset: "Dataset", component: "Component", command: "Command", approval: "Approval" };

export function StepInspector(props: Props) {
  const { step, library } = props;
  const component = componentOf(step, library);
  return (
    <Stack gap="xs" className="flow-inspector" component="aside" aria-label={`Step ${step.name}`}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Title order={2} size="h5" style={{ overflowWrap: "anywhere" }}>
          {component?.title || KINDS[step.kind]}
        </Title>
        <Tools {...props} component={component?.name} />
      </Group>
      {component?.description && (
        <Text size="xs" c="dimmed">
          {component.description}
        </Text>
      )}
      {props.problem && (
        <Alert color="orange" p="xs">
          <Text size="xs">{props.problem}</Text>
        </Alert>
      )}
      <StepName {...props} />
      <StepBasics {...props} />
      <Inputs {...props} />
      <Params {...props} />
      <Outputs {...props} />
      {step.kind !== "dataset" && <RunOptions {...props} />}
    </Stack>
  );
}

function Tools({
  project,
  isEditable,
  onCopy,
  onRemove,
  onClose,
  component,
}: Props & { component?: string }) {
  return (
    <Group gap={0} wrap="nowrap">
      {component && (
        <Tooltip label="Documentation of the component">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Documentation of the component"
            renderRoot={(rest) => (
              <Link
                {...rest}
                to="/projects/$project/library/$component"
                params={{ project, component }}
                target="_blank"
              />
            )}
          >
            <IconBook size={16} />
          </ActionIcon>
        </Tooltip>
      )}
      {isEditable && (
        <>
          <Tooltip label="Duplicate this step">
            <ActionIcon variant="subtle" color="gray" aria-label="Duplicate this step" onClick={onCopy}>
              <IconCopy size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Remove this step">
            <ActionIcon variant="subtle" color="red" aria-label="Remove this step" onClick={onRemove}>
              <IconTrash size={16} />
            </ActionIcon>
          </Tooltip>
        </>
      )}
      <ActionIcon variant="subtle" color="gray" aria-label="Close the form" onClick={onClose}>
        <IconX size={16} />
      </ActionIcon>
    </Group>
  );
}

function StepName({ step, graph, isEditable, onRename }: Props) {
  return (
    <SettledInput
      size="xs"
      label="Name"
      disabled={!isEditable}
      written={step.name}
      check={(name) => {
        if (graph.steps.some((one) => one.name === name)) return "Another step has this name.";
        return STEP_NAME.test(name) ? null : "Use lower-case letters, digits, - and _.";
      }}
      onSettle={onRename}
    />
  );
}
