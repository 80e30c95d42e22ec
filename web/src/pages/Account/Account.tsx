import { Stack } from "@mantine/core";
import { useSession } from "../../api/session";
import { Channels } from "../../components/channels/Channels";
import { Facts } from "../../components/Facts";
import { PageHeader } from "../../components/PageHeader";
import { LinkedSignIns } from "./LinkedSignIns";
import { Sessions } from "./Sessions";

/** The viewer's own account: who they are, where they are signed in, and what they sign in with. */
export function Account() {
  const session = useSession();
  if (!session) return null;
  const { user } = session;
  const facts = [
    { name: "User name", value: user.name },
    ...(user.full_name ? [{ name: "Name", value: user.full_name }] : []),
    ...(user.email ? [{ name: "E-mail", value: user.email }] : []),
    { name: "Password", value: session.has_password ? "set" : "none: you sign in with a provider" },
  ];
  return (
    <>
      <PageHeader title="Account" below={<Facts facts={facts} />} />
      <Stack gap="xl">
        <Channels />
        <Sessions />
        <LinkedSignIns user={user.name} />
      </Stack>
    </>
  );
}
