import { ActionIcon, Group, Menu, Text, UnstyledButton } from "@mantine/core";
import {
  IconArrowDown,
  IconArrowLeft,
  IconArrowRight,
  IconArrowUp,
  IconDotsVertical,
  IconEyeOff,
  IconStack2,
} from "@tabler/icons-react";
import { type Field, type Order, titleOf, writeField } from "./fields";

interface Props {
  field: Field;
  order: Order;
  onSort: () => void;
  /** Where it may go; left out where it cannot. */
  onMove: { left?: () => void; right?: () => void };
  onHide: () => void;
  onGroup?: () => void;
}

/** The head of a column: a click sorts by it at the server, the menu moves and hides it. */
export function HeaderCell({ field, order, onSort, onMove, onHide, onGroup }: Props) {
  const sorted = order.field === writeField(field) ? (order.descending ? "descending" : "ascending") : "none";
  const title = titleOf(field);
  return (
    <th aria-sort={sorted} scope="col">
      <Group gap={2} wrap="nowrap" justify="space-between">
        <UnstyledButton onClick={onSort} className="run-column" title={`Sort by ${writeField(field)}`}>
          <span className="run-column-name">{title}</span>
          <Kind field={field} />
          {sorted === "ascending" && <IconArrowUp size={14} aria-hidden />}
          {sorted === "descending" && <IconArrowDown size={14} aria-hidden />}
        </UnstyledButton>
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <ActionIcon
              size={22}
              variant="subtle"
              color="gray"
              className="column-menu"
              aria-label={`Column ${title}`}
            >
              <IconDotsVertical size={14} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {onGroup && (
              <Menu.Item leftSection={<IconStack2 size={16} aria-hidden />} onClick={onGroup}>
                Group by {title}
              </Menu.Item>
            )}
            <Menu.Item
              leftSection={<IconArrowLeft size={16} aria-hidden />}
              disabled={!onMove.left}
              onClick={onMove.left}
            >
              Move left
            </Menu.Item>
            <Menu.Item
              leftSection={<IconArrowRight size={16} aria-hidden />}
              disabled={!onMove.right}
              onClick={onMove.right}
            >
              Move right
            </Menu.Item>
            <Menu.Item leftSection={<IconEyeOff size={16} aria-hidden />} onClick={onHide}>
              Hide
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Group>
    </th>
  );
}

/** Which value of a metric is shown; of the last nothing is said. */
function Kind({ field }: { field: Field }) {
  if (field.kind !== "metrics" || field.value === "last") return null;
  return (
    <Text span size="xs" c="dimmed">
      {field.value}
    </Text>
  );
}
