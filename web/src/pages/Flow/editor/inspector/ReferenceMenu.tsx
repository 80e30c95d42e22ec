import { ActionIcon, Menu, Text, Tooltip } from "@mantine/core";
import { IconBraces } from "@tabler/icons-react";
import { useState } from "react";
import type { Reference } from "../references";

interface Props {
  /** Of which field. */
  label: string;
  /** Asked for when the menu is opened: in a large flow there are many. */
  references: () => readonly Reference[];
  disabled?: boolean;
  onChoose: (text: string) => void;
  /** Makes the value a parameter of the flow. */
  onPromote?: () => void;
}

const GROUPS = ["Parameters of the flow", "Runs over", "Outputs of steps", "Of the run"] as const;

/** Takes a value from somewhere else in the flow. */
export function ReferenceMenu({ label, references, disabled, onChoose, onPromote }: Props) {
  const [opened, setOpened] = useState(false);
  const offered = opened ? references() : [];
  return (
    <Menu position="bottom-end" withinPortal shadow="md" opened={opened} onChange={setOpened}>
      <Menu.Target>
        <Tooltip label="Take the value from the flow">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            disabled={disabled}
            aria-label={`Take ${label} from the flow`}
          >
            <IconBraces size={14} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown mah={320} style={{ overflowY: "auto" }}>
        {onPromote && <Menu.Item onClick={onPromote}>Make it a parameter of the flow</Menu.Item>}
        {GROUPS.map((group) => {
          const items = offered.filter((one) => one.group === group);
          if (items.length === 0) return null;
          return (
            <div key={group}>
              <Menu.Label>{group}</Menu.Label>
              {items.map((one) => (
                <Menu.Item
                  key={one.text}
                  onClick={() => onChoose(one.text)}
                  rightSection={
                    <Text size="xs" c="dimmed">
                      {one.type}
                    </Text>
                  }
                >
                  <span className="mono">{one.text}</span>
                </Menu.Item>
              ))}
            </div>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}
