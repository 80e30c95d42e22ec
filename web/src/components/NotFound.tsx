import { Button, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

/** The page for an address that leads nowhere, or to something the viewer may not see. */
export function NotFound({ message }: { message?: string }) {
  return (
    <Stack component="section" align="center" py={80} px="md">
      <Title order={1} size="h2">
        Page not found
      </Title>
      <Text ta="center">{message ?? "This page does not exist, or you do not have access to it."}</Text>
      <Button component={Link} to="/">
        Go to Home
      </Button>
    </Stack>
  );
}
