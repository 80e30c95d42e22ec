import { Stack, Text, Title } from "@mantine/core";
import { IconRipple } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { cachesQuery } from "../../api/caches";
import { datasetTotalsQuery } from "../../api/datasets";
import { volumesQuery } from "../../api/volumes";
import { EmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { Paged } from "../../components/Paged";
import { PageHeader } from "../../components/PageHeader";
import { WaitingCards } from "../../components/Waiting";
import { formatUsed } from "../../lib/quantity";
import { CachedTable } from "./parts/CachedTable";
import { Evictions } from "./parts/Evictions";
import { NewVolumeButton } from "./parts/VolumeActions";
import { VolumeCards } from "./parts/VolumeCards";

export function CacheList() {
  const volumes = useQuery(volumesQuery);
  const totals = useQuery(datasetTotalsQuery).data;
  return (
    <>
      <PageHeader
        title="Caches"
        actions={<NewVolumeButton />}
        below={
          totals && (
            <Text c="dimmed">
              {totals.volumes_connected} NFS Connected ·{" "}
              {formatUsed(totals.cached_bytes, totals.volume_bytes)} used by cached commits
            </Text>
          )
        }
      />
      <Loaded result={volumes} waiting={<WaitingCards height={180} />}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={IconRipple}
              sentence="A volume is a directory beside the compute, normally an NFS mount, that keeps commits near the jobs that read them."
              action={<NewVolumeButton />}
              command="mill volume add fast /mnt/fast"
            />
          ) : (
            <Stack gap="xl">
              <VolumeCards volumes={items} />
              <CachedCommits />
              <Evictions />
            </Stack>
          )
        }
      </Loaded>
    </>
  );
}

function CachedCommits() {
  const caches = useInfiniteQuery(cachesQuery({}));
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Cached commits
      </Title>
      <Paged
        result={caches}
        empty={
          <EmptyState
            icon={IconRipple}
            sentence="Nothing is cached yet: open a dataset and press Cache on a commit, once for everybody."
            command="mill cache add my-data"
          />
        }
      >
        {(cached) => <CachedTable cached={cached} />}
      </Paged>
    </section>
  );
}
