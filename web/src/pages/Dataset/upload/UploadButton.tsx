import { Button, Menu } from "@mantine/core";
import { IconChevronDown, IconFiles, IconFolder, IconUpload } from "@tabler/icons-react";
import { useUploadChoosers } from "./UploadArea";

/** Files or a folder: browsers have a chooser for either, but none for both. */
export function UploadButton({ variant = "filled" }: { variant?: "filled" | "default" }) {
  const choosers = useUploadChoosers();
  if (!choosers) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant={variant}
          leftSection={<IconUpload size={16} aria-hidden />}
          rightSection={<IconChevronDown size={16} aria-hidden />}
        >
          Upload
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Or drop them anywhere on this page</Menu.Label>
        <Menu.Item leftSection={<IconFolder size={16} aria-hidden />} onClick={() => choosers.chooseFolder()}>
          A folder
        </Menu.Item>
        <Menu.Item leftSection={<IconFiles size={16} aria-hidden />} onClick={choosers.chooseFiles}>
          Files
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
