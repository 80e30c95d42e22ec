import { Button, Group, NumberInput } from "@mantine/core";
import { useState } from "react";
import { useScaleEndpoint } from "../../../api/endpoints";
import { useMay } from "../../../api/session";
import type { Endpoint, EndpointSiteState } from "../../../api/shapes";
import { notifyDone, tell } from "../../../components/notify";

const MOST = 1000;

/** Least and greatest number of replicas at a site; to be changed by those who may. */
export function SiteScale({ endpoint, site }: { endpoint: Endpoint; site: EndpointSiteState }) {
  const may = useMay(endpoint.project, "member");
  const scale = useScaleEndpoint({ project: endpoint.project, endpoint: endpoint.name });
  const [draft, setDraft] = useState<{ min: number; max: number } | null>(null);
  if (!may) return `${site.min} to ${site.max}`;
  const shown = draft ?? { min: site.min, max: site.max };
  const change = (part: Partial<typeof shown>) => setDraft({ ...shown, ...part });
  const save = () =>
    void tell(scale.mutateAsync({ site: site.site, ...shown }), () => {
      setDraft(null);
      notifyDone(`${site.site}: ${shown.min} to ${shown.max} replicas.`);
    });
  return (
    <Group gap={4} wrap="nowrap">
      <NumberInput
        aria-label={`Minimum at ${site.site}`}
        size="xs"
        w={64}
        min={0}
        max={MOST}
        allowDecimal={false}
        value={shown.min}
        onChange={(value) => change({ min: Number(value) || 0 })}
      />
      <NumberInput
        aria-label={`Maximum at ${site.site}`}
        size="xs"
        w={64}
        min={1}
        max={MOST}
        allowDecimal={false}
        value={shown.max}
        onChange={(value) => change({ max: Number(value) || 1 })}
      />
      {draft && (
        <Button size="xs" onClick={save} loading={scale.isPending} disabled={shown.min > shown.max}>
          Save
        </Button>
      )}
    </Group>
  );
}
