import { Stack, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { providersQuery, useLocalLogin } from "../../api/signIn";
import { Loaded } from "../../components/Loaded";
import { notifyDone, tell } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";
import { Providers } from "./parts/Providers";
import { Rules } from "./parts/Rules";
import { TryRules } from "./parts/TryRules";

/** How people sign in, and what their groups give them. For site administrators. */
export function SignInPage() {
  const result = useQuery(providersQuery);
  return (
    <>
      <PageHeader
        title="Sign-in"
        below={
          <Text c="dimmed">People sign in with a password or a provider. Groups there give roles here.</Text>
        }
      />
      <Loaded result={result}>
        {({ items, local_login }) => (
          <Stack gap="xl">
            <LocalLogin on={local_login} />
            <Providers providers={items} />
            <Rules providers={items.map((one) => one.name)} />
            {items.length > 0 && <TryRules providers={items.map((one) => one.name)} />}
          </Stack>
        )}
      </Loaded>
    </>
  );
}

function LocalLogin({ on }: { on: boolean }) {
  const change = useLocalLogin();
  const set = (wanted: boolean) =>
    tell(change.mutateAsync(wanted), () =>
      notifyDone(wanted ? "People may sign in with a password." : "Nobody can sign in with a password now."),
    );
  return (
    <Switch
      checked={on}
      disabled={change.isPending}
      onChange={(event) => set(event.currentTarget.checked)}
      label="Sign in with a password kept by this server"
      description="The way back, on the server's own machine: mill auth local-login on --here"
    />
  );
}
