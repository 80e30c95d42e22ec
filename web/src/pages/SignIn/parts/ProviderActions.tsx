import { ActionIcon, Menu, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { IconDots } from "@tabler/icons-react";
import type { Provider } from "../../../api/shapes";
import { useChangeProvider, useDeleteProvider, useTestProvider } from "../../../api/signIn";
import { ConfirmByName } from "../../../components/ConfirmByName";
import { CommandLine } from "../../../components/Copyable";
import { notifyDone, notifyError, tell } from "../../../components/notify";

export function ProviderActions({ provider }: { provider: Provider }) {
  const test = useTestProvider();
  const change = useChangeProvider();
  const remove = useDeleteProvider();
  const [removing, dialog] = useDisclosure(false);
  const [showing, addresses] = useDisclosure(false);
  const { name } = provider;
  const tryIt = () =>
    tell(test.mutateAsync(name), (found) => {
      if (found.works) {
        notifyDone(`${name} works. ${found.found.slice(-3).join(", ")}`);
        return;
      }
      notifications.show({
        color: "red",
        title: `${name} does not work.`,
        message: `${found.problem} ${found.hint ?? ""}`,
        autoClose: 20_000,
        closeButtonProps: { "aria-label": "Close" },
      });
    });
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon
            variant="default"
            aria-label={`Change ${name}`}
            loading={test.isPending || change.isPending}
          >
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={tryIt}>Test</Menu.Item>
          {provider.redirect_uri && <Menu.Item onClick={addresses.open}>Show addresses</Menu.Item>}
          <Menu.Item
            onClick={() =>
              change.mutate({ provider: name, enabled: !provider.enabled }, { onError: notifyError })
            }
          >
            {provider.enabled ? "Switch off" : "Switch on"}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={dialog.open}>Remove</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={showing}
        onClose={addresses.close}
        size="lg"
        title={`Enter these at ${provider.title}`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack>
          <Address name="Redirect URI" value={provider.redirect_uri} />
          <Address name="After sign-out" value={provider.sign_out_uri} />
          <Address name="Back-channel logout" value={provider.back_channel_uri} />
        </Stack>
      </Modal>
      <ConfirmByName
        opened={removing}
        onClose={dialog.close}
        title={`Remove ${name}?`}
        name={name}
        explanation="Its rules go, too. Accounts stay; people who have no password can no longer sign in."
        action="Remove"
        onConfirm={() => remove.mutate(name, { onSuccess: dialog.close })}
        busy={remove.isPending}
        error={remove.error}
      />
    </>
  );
}

function Address({ name, value }: { name: string; value?: string | null }) {
  if (!value) return null;
  return (
    <div>
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <CommandLine command={value} />
    </div>
  );
}
