import { Button, Group, Modal, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { rerunPlanQuery, useRerun } from "../../../api/reruns";
import { CommandLine } from "../../../components/Copyable";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Loaded } from "../../../components/Loaded";
import { OnSelect } from "../../Job/parts/OnSelect";
import type { Recorded } from "../tabs";
import { AgainData } from "./AgainData";
import { AgainParams } from "./AgainParams";
import { type Changes, commandLineOf, NO_CHANGES, requestOf } from "./changes";
import { WhatDiffers } from "./WhatDiffers";

interface Props extends Recorded {
  onClose: () => void;
}

/** The same run once more: its code, data, environment and command, with what somebody changes here. */
export function RunAgain({ run, job, onClose }: Props) {
  const place = { project: run.project, run: run.id };
  const [changes, setChanges] = useState<Changes>(NO_CHANGES);
  const [settled] = useDebouncedValue(changes, 300);
  const plan = useQuery(rerunPlanQuery(place, requestOf(settled)));
  const rerun = useRerun(place);
  const navigate = useNavigate();
  const change = (part: Partial<Changes>) => setChanges((before) => ({ ...before, ...part }));
  const start = () =>
    rerun.mutate(requestOf(changes), {
      onSuccess: ({ job: made }) => {
        onClose();
        if (made)
          void navigate({
            to: "/projects/$project/jobs/$job",
            params: { project: made.project, job: made.id },
          });
      },
    });
  // Code that only Git has is fetched by the command line: the server cannot.
  const isElsewhere = plan.data?.git != null || (plan.data?.packages ?? []).length > 0;
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Run ${job?.written ?? run.name} again`}
      size="xl"
      fullScreen={useMediaQuery("(max-width: 48em)")}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <TextInput
            label="Name"
            placeholder={plan.data?.name ?? "generated"}
            value={changes.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
          <TextInput
            label="Experiment"
            placeholder={run.experiment}
            value={changes.experiment}
            onChange={(event) => change({ experiment: event.currentTarget.value })}
          />
          <OnSelect
            placeholder={job?.on ?? "as before"}
            value={changes.on}
            onChange={(on) => change({ on })}
          />
        </SimpleGrid>
        <Loaded result={plan}>
          {(found) => (
            <>
              <AgainParams params={found.params} changes={changes} onChange={setChanges} />
              {job && <AgainData job={job} changes={changes} onChange={setChanges} />}
              <WhatDiffers plan={found} />
            </>
          )}
        </Loaded>
        {rerun.error && <ErrorNotice error={rerun.error} />}
        <Group justify="space-between">
          <Button
            onClick={start}
            loading={rerun.isPending}
            disabled={!plan.data?.can_start || isElsewhere}
            data-autofocus
          >
            Run again
          </Button>
          {isElsewhere && (
            <Text size="sm" maw={420}>
              Its code is in Git, not in the lake. Use the command below: it fetches the code and sends it.
            </Text>
          )}
        </Group>
        <div>
          <Text size="xs" c="dimmed" mb={2}>
            The same on the command line
          </Text>
          <CommandLine command={commandLineOf(run.id, run.project, changes)} wrap />
        </div>
      </Stack>
    </Modal>
  );
}
