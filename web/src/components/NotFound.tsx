import { Button, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

/** The page for an address that leads nowhere, or to something the viewer may not see. */
export function NotFound({ message }: { message?: string }) {
  return (
    <Stack component="section" align="center" py={80} px="md">
      <Title order={1} size="h2">
        Nothing is here
      </Title>
      <Text ta="center">
        {message ?? "This address leads nowhere, or to something you have no role for."}
      </Text>
      <Button component={Link} to="/">
        Go to the first page
      </Button>
    </Stack>
  );
}
