import { Button, Menu } from "@mantine/core";
import { IconBookmark } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { policiesQuery, useKeepBranch, useUnkeepBranch } from "../../../api/cachePlans";
import { type DatasetPlace, refsQuery } from "../../../api/datasets";
import { itemsOf } from "../../../api/paging";
import { useMay } from "../../../api/session";
import { volumesQuery } from "../../../api/volumes";
import { notifyDone, tell } from "../../../components/notify";

/** Keeps the newest commit of a branch cached on a volume, or no longer. */
export function KeepBranch({ place, branch }: { place: DatasetPlace; branch: string }) {
  const may = useMay(place.project, "member");
  const volumes = useQuery(volumesQuery).data?.items ?? [];
  const kept = itemsOf(useInfiniteQuery(policiesQuery(place)).data).filter((one) => one.branch === branch);
  const isBranch = useQuery(refsQuery(place)).data?.items.some(
    (ref) => ref.type === "branch" && ref.name === branch,
  );
  const keep = useKeepBranch();
  const unkeep = useUnkeepBranch();
  if (!may || !isBranch || volumes.length === 0) return null;
  const written = `${place.dataset}@${branch}`;
  const choose = (volume: string) => {
    const policy = kept.find((one) => one.volume === volume);
    if (policy) return tell(unkeep.mutateAsync(policy.id));
    const asked = { project: place.project, dataset: written, volume };
    tell(keep.mutateAsync(asked), () => notifyDone(`Every new commit of ${written} is cached on ${volume}.`));
  };
  return (
    <Menu closeOnItemClick={false}>
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconBookmark size={16} aria-hidden />}
          loading={keep.isPending || unkeep.isPending}
        >
          {kept.length > 0 ? `Kept on ${kept.map((one) => one.volume).join(", ")}` : "Keep cached"}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Cache every new commit of {branch} on</Menu.Label>
        {volumes.map(({ id, name }) => (
          <Menu.CheckboxItem
            key={id}
            checked={kept.some((one) => one.volume === name)}
            onChange={() => choose(name)}
          >
            {name}
          </Menu.CheckboxItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
