import { Button, Center, Paper, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDocumentTitle } from "@mantine/hooks";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useSignIn } from "../../api/session";
import { AwayBanner } from "../../components/AwayBanner";
import { ErrorNotice } from "../../components/ErrorNotice";

const route = getRouteApi("/login");

export function Login() {
  useDocumentTitle("Sign in · Millpond");
  const { next } = route.useSearch();
  const router = useRouter();
  const signIn = useSignIn();
  const form = useForm({ initialValues: { name: "", password: "" } });
  const submit = form.onSubmit((values) =>
    signIn.mutate(values, { onSuccess: () => router.history.push(next ?? "/") }),
  );
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w={380} maw="100%">
        <AwayBanner />
        <form onSubmit={submit}>
          <Stack>
            <Stack align="center" gap="xs">
              <img src="./icon.svg" alt="" width={48} height={48} />
              <Title order={1} size="h3">
                Millpond
              </Title>
              <Text size="sm" c="dimmed" ta="center">
                The water beside the mill, so that the wheel never waits.
              </Text>
            </Stack>
            <TextInput
              label="User name"
              autoComplete="username"
              autoCapitalize="none"
              required
              autoFocus
              {...form.getInputProps("name")}
            />
            <PasswordInput
              label="Password"
              autoComplete="current-password"
              required
              visibilityToggleButtonProps={{ "aria-label": "Show the password" }}
              {...form.getInputProps("password")}
            />
            {signIn.error && <ErrorNotice error={signIn.error} />}
            <Button type="submit" loading={signIn.isPending}>
              Sign in
            </Button>
            <Text size="xs" c="dimmed">
              Forgotten? Run <span className="mono">mill user reset-password</span> on the server's machine.
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}
