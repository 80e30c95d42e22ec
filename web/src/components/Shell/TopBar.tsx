import { ActionIcon, Burger, Button, Group, Kbd, Text, Tooltip } from "@mantine/core";
import { IconKeyboard, IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { homeQuery } from "../../api/home";
import { useOnline } from "../../hooks/useLive";
import { TextLink } from "../TextLink";
import { Bell } from "./Bell";
import { ProjectSwitch } from "./ProjectSwitch";
import { palette } from "./paletteStore";
import { SchemeMenu } from "./SchemeMenu";
import { UserMenu } from "./UserMenu";

interface Props {
  opened: boolean;
  toggle: () => void;
  showHelp: () => void;
}

export function TopBar({ opened, toggle, showHelp }: Props) {
  return (
    <Group h="100%" px="md" justify="space-between" wrap="nowrap">
      <Group gap="sm" wrap="nowrap">
        <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
        <TextLink to="/" underline="never" c="inherit" aria-label="Millpond">
          <Group gap="xs" wrap="nowrap">
            <img src="./icon.svg" alt="" width={28} height={28} />
            <Text fw={700} size="lg" className="brand">
              Millpond
            </Text>
          </Group>
        </TextLink>
        <ProjectSwitch visibleFrom="sm" />
      </Group>
      <Group gap="xs" wrap="nowrap">
        <Button
          variant="default"
          size="compact-md"
          onClick={palette.open}
          leftSection={<IconSearch size={14} aria-hidden />}
          rightSection={<Kbd size="xs">Ctrl K</Kbd>}
          visibleFrom="xs"
        >
          Search
        </Button>
        <RunningJobs />
        <LiveDot />
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          onClick={palette.open}
          aria-label="Search"
          hiddenFrom="xs"
        >
          <IconSearch size={20} />
        </ActionIcon>
        <Tooltip label="Keyboard">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            onClick={showHelp}
            aria-label="Keyboard shortcuts"
            visibleFrom="xs"
          >
            <IconKeyboard size={20} />
          </ActionIcon>
        </Tooltip>
        <Bell />
        <SchemeMenu />
        <UserMenu />
      </Group>
    </Group>
  );
}

function RunningJobs() {
  const running = useQuery(homeQuery).data?.jobs_running ?? 0;
  if (running === 0) return null;
  return (
    <TextLink to="/jobs" search={{ state: "running" }} size="sm" className="unbroken">
      {running} running
    </TextLink>
  );
}

function LiveDot() {
  const online = useOnline();
  const words = online ? "Live: changes appear by themselves" : "Offline: the page asks every 5 seconds";
  return (
    <Tooltip label={words}>
      <Group gap={6} wrap="nowrap" role="status" aria-label={words} tabIndex={0}>
        <svg width="10" height="10" aria-hidden="true">
          <circle cx="5" cy="5" r="4.5" fill={online ? "#2f9e44" : "#e8590c"} />
        </svg>
        <Text size="xs" c="dimmed" visibleFrom="md">
          {online ? "live" : "offline"}
        </Text>
      </Group>
    </Tooltip>
  );
}
