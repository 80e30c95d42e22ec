import { Badge, Button, Paper, Table, Text } from "@mantine/core";
import { IconPackageExport, IconRefresh } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { fetchSupportBundle, serverDoctorQuery } from "../../api/doctor";
import { sessionQuery } from "../../api/session";
import { Loaded } from "../../components/Loaded";
import { tell } from "../../components/notify";
import { PageHeader } from "../../components/PageHeader";

const COLORS = { ok: "green", warning: "yellow", error: "red" } as const;
const ORDER = ["error", "warning", "ok"] as const;

/** What `mill doctor --server` says, what needs care first; and the support bundle. */
export function ServerDiagnosis() {
  const found = useQuery(serverDoctorQuery);
  const { data: session } = useQuery(sessionQuery);
  const bundle = useMutation({ mutationFn: () => fetchSupportBundle(session?.csrf ?? "") });
  const download = () => tell(bundle.mutateAsync(), ({ file, name }) => save(file, name));
  return (
    <>
      <PageHeader
        title="Server"
        below={<Text c="dimmed">How the server and everything around it are, and what to do.</Text>}
        actions={
          <>
            <Button
              variant="default"
              leftSection={<IconRefresh size={16} aria-hidden />}
              onClick={() => found.refetch()}
              loading={found.isFetching}
            >
              Check again
            </Button>
            <Button
              leftSection={<IconPackageExport size={16} aria-hidden />}
              onClick={download}
              loading={bundle.isPending}
            >
              Support bundle
            </Button>
          </>
        }
      />
      <Loaded result={found}>
        {({ checks }) => (
          <Paper withBorder>
            <Table aria-label="Checks">
              <Table.Tbody>
                {ORDER.flatMap((level) => checks.filter((one) => levelOf(one) === level)).map((check) => (
                  <Table.Tr key={check.name}>
                    <Table.Td w={110}>
                      <Badge color={COLORS[levelOf(check)]} variant="light">
                        {levelOf(check)}
                      </Badge>
                    </Table.Td>
                    <Table.Td>
                      <Text fw={500}>{check.name}</Text>
                      <Text size="sm" className="row-name">
                        {check.message}
                      </Text>
                      {!check.ok && check.hint && (
                        <Text size="sm" c="dimmed" className="row-name">
                          → {check.hint}
                        </Text>
                      )}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Paper>
        )}
      </Loaded>
    </>
  );
}

function levelOf(check: { ok: boolean; level?: keyof typeof COLORS | null }): keyof typeof COLORS {
  return check.level ?? (check.ok ? "ok" : "error");
}

function save(file: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
