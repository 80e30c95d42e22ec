import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from "@mantine/core";
import { IconCheck, IconDeviceDesktop, IconMoon, IconSun } from "@tabler/icons-react";

const SCHEMES = [
  ["light", "Light", IconSun],
  ["dark", "Dark", IconMoon],
  ["auto", "System", IconDeviceDesktop],
] as const satisfies readonly (readonly [MantineColorScheme, string, unknown])[];

export function SchemeMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Current = SCHEMES.find(([scheme]) => scheme === colorScheme)?.[2] ?? IconDeviceDesktop;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Colour scheme">
          <Current size={20} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {SCHEMES.map(([scheme, label, Picture]) => (
          <Menu.Item
            key={scheme}
            leftSection={<Picture size={16} aria-hidden />}
            rightSection={scheme === colorScheme ? <IconCheck size={16} aria-label="chosen" /> : null}
            onClick={() => setColorScheme(scheme)}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
