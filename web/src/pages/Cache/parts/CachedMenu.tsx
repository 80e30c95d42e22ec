import { ActionIcon, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  IconClock,
  IconDots,
  IconHandStop,
  IconHelpCircle,
  IconLockOpen,
  IconShieldCheck,
} from "@tabler/icons-react";
import { useHoldCached, useIdleOfCached, useReleaseCached, useVerifyCached } from "../../../api/caches";
import { useMay, useSession } from "../../../api/session";
import type { CachedCommit } from "../../../api/shapes";
import { notifyDone, tell } from "../../../components/notify";
import { HOLD_TIMES, IDLE_TIMES } from "./times";
import { WhyDrawer } from "./WhyDrawer";

interface Props {
  cached: CachedCommit;
  /** Whether the viewer may do more than look. */
  changeable: boolean;
}

/** What is done to a cached commit less often: why it is here, hold, idle time, verify. */
export function CachedMenu({ cached, changeable }: Props) {
  const [why, drawer] = useDisclosure(false);
  const name = `${cached.dataset} on ${cached.volume}`;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" aria-label={`More for ${name}`}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconHelpCircle size={16} aria-hidden />} onClick={drawer.open}>
            Why is it here?
          </Menu.Item>
          {changeable && <Changes cached={cached} />}
        </Menu.Dropdown>
      </Menu>
      {why && <WhyDrawer cached={cached} onClose={drawer.close} />}
    </>
  );
}

function Changes({ cached }: { cached: CachedCommit }) {
  const verify = useVerifyCached();
  const start = () =>
    tell(verify.mutateAsync(cached.id), () => notifyDone(`${cached.dataset} is being verified.`));
  return (
    <>
      <HoldItems cached={cached} />
      <IdleItems cached={cached} />
      <Menu.Item
        leftSection={<IconShieldCheck size={16} aria-hidden />}
        onClick={start}
        disabled={cached.state !== "ready" || isVerifying(cached)}
      >
        Verify and heal
      </Menu.Item>
    </>
  );
}

function HoldItems({ cached }: { cached: CachedCommit }) {
  const me = useSession()?.user.name;
  const hold = useHoldCached();
  const release = useReleaseCached();
  const mayRelease = useMay(cached.project, "admin");
  const mine = cached.leased_by.some((holder) => holder.job == null && holder.user === me);
  const others = cached.leased_by.flatMap(({ kind, user }) =>
    kind === "hold" && user && user !== me ? [user] : [],
  );
  return (
    <>
      <Menu.Sub>
        <Menu.Sub.Target>
          <Menu.Sub.Item leftSection={<IconHandStop size={16} aria-hidden />}>Hold for</Menu.Sub.Item>
        </Menu.Sub.Target>
        <Menu.Sub.Dropdown>
          {HOLD_TIMES.map(([seconds, words]) => (
            <Menu.Item
              key={seconds}
              onClick={() =>
                tell(hold.mutateAsync({ cached: cached.id, seconds }), () =>
                  notifyDone(`${cached.dataset} stays on ${cached.volume} for ${words}.`),
                )
              }
            >
              {words}
            </Menu.Item>
          ))}
        </Menu.Sub.Dropdown>
      </Menu.Sub>
      {mine && (
        <Menu.Item
          leftSection={<IconLockOpen size={16} aria-hidden />}
          onClick={() => tell(release.mutateAsync({ cached: cached.id }))}
        >
          Release my hold
        </Menu.Item>
      )}
      {mayRelease &&
        others.map((user) => (
          <Menu.Item
            key={user}
            leftSection={<IconLockOpen size={16} aria-hidden />}
            onClick={() => tell(release.mutateAsync({ cached: cached.id, user }))}
          >
            Release the hold of {user}
          </Menu.Item>
        ))}
    </>
  );
}

function IdleItems({ cached }: { cached: CachedCommit }) {
  const change = useIdleOfCached();
  const choose = (idle_seconds: number | "default") =>
    tell(change.mutateAsync({ cached: cached.id, idle_seconds }));
  const own = cached.idle_by === "commit";
  return (
    <Menu.Sub>
      <Menu.Sub.Target>
        <Menu.Sub.Item leftSection={<IconClock size={16} aria-hidden />}>Idle time</Menu.Sub.Item>
      </Menu.Sub.Target>
      <Menu.Sub.Dropdown>
        <Menu.Label>Clear it when unused for</Menu.Label>
        {IDLE_TIMES.map(([seconds, words]) => (
          <Menu.Item
            key={seconds}
            disabled={own && seconds === cached.idle_seconds}
            onClick={() => choose(seconds)}
          >
            {words}
          </Menu.Item>
        ))}
        <Menu.Item disabled={!own} onClick={() => choose("default")}>
          as its dataset or volume says
        </Menu.Item>
      </Menu.Sub.Dropdown>
    </Menu.Sub>
  );
}

export function isVerifying({ verification }: CachedCommit): boolean {
  return verification?.state === "asked" || verification?.state === "running";
}
