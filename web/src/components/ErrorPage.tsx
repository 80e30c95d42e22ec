import { Container } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { ErrorNotice } from "./ErrorNotice";

/** What is shown when a page could not be shown at all. */
export function ErrorPage({ error, reset }: { error: unknown; reset: () => void }) {
  const router = useRouter();
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return (
    <Container component="main" size="sm" py={80}>
      <ErrorNotice error={error} retry={retry} />
    </Container>
  );
}
