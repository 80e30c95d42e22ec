import {
  Alert,
  Button,
  Center,
  Divider,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDocumentTitle } from "@mantine/hooks";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useSignIn } from "../../api/session";
import { signInWaysQuery } from "../../api/signIn";
import { AwayBanner } from "../../components/AwayBanner";
import { ErrorNotice } from "../../components/ErrorNotice";
import { HealthBanner } from "../../components/HealthBanner";
import { apiAddress } from "../../lib/base";

const route = getRouteApi("/login");

export function Login() {
  useDocumentTitle("Sign in · Millpond");
  const { next, problem } = route.useSearch();
  const ways = useQuery(signInWaysQuery(problem)).data;
  const providers = ways?.providers ?? [];
  // A server that does not answer is asked with a password all the same: the answer says what is wrong.
  const takesPasswords = ways?.password ?? true;
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="xl" w={380} maw="100%">
        <AwayBanner />
        <HealthBanner />
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
          {ways?.problem && (
            <Alert role="alert" color="red" icon={<IconAlertTriangle />} title={ways.problem.detail}>
              {ways.problem.hint}
            </Alert>
          )}
          {providers.map((provider) => (
            <Button
              key={provider.name}
              component="a"
              variant={takesPasswords ? "default" : "filled"}
              href={apiAddress(`/sign-in/start/${encodeURIComponent(provider.name)}`, { next: next ?? "/" })}
            >
              Sign in with {provider.title}
            </Button>
          ))}
          {providers.length > 0 && takesPasswords && <Divider label="or with a password" />}
          {takesPasswords && (
            <PasswordForm next={next} directories={ways?.directories.map((one) => one.title) ?? []} />
          )}
        </Stack>
      </Paper>
    </Center>
  );
}

function PasswordForm({ next, directories }: { next?: string; directories: string[] }) {
  const router = useRouter();
  const signIn = useSignIn();
  const form = useForm({ initialValues: { name: "", password: "" } });
  const submit = form.onSubmit((values) =>
    signIn.mutate(values, { onSuccess: () => router.history.push(next ?? "/") }),
  );
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="User name"
          description={directories.length > 0 ? `Here, or in ${directories.join(" or ")}` : undefined}
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
  );
}
