import { expect, it } from "vitest";
import { aVolume } from "../../../testing/builders";
import { showPage } from "../../../testing/page";
import { Features } from "./Features";
import { diskOf, VolumeSpace } from "./VolumeSpace";

it("tells apart what is used, promised, reserved, taken by others and free", async () => {
  const volume = aVolume({ used_bytes: 300, filling_bytes: 100, free_bytes: 550 });
  const page = await showPage(<VolumeSpace volume={volume} />);
  const words = page.getByTestId("capacity").textContent;
  for (const said of [
    "200 B used",
    "100 B promised to fills",
    "100 B reserved",
    "50 B taken by other files",
    "550 B free",
    "of 1.0 kB",
  ]) {
    expect(words).toContain(said);
  }
});

it("says what was measured, and inodes only where they can run out", () => {
  expect(diskOf(aVolume())).toEqual([]);
  const measured = aVolume({
    disk_total_bytes: 10_000_000_000,
    disk_free_bytes: 4_000_000_000,
    foreign_bytes: 2_000_000_000,
    leftover_bytes: 3000,
    inodes_total: 65_536,
    inodes_free: 60_000,
    used_inodes: 1797,
  });
  expect(diskOf(measured)).toEqual([
    "The disk: 4.0 GB free of 10.0 GB.",
    "2.0 GB are other files, never touched.",
    "3.0 kB of evicted commits go when nobody has them open any more.",
    "Inodes: 60,000 free of 65,536, 1,797 by cached commits.",
  ]);
});

it("says what a file system cannot do and what follows", async () => {
  const page = await showPage(
    <Features features={{ link: false, chmod: true, reflink: false, name_bytes: 255 }} />,
  );
  expect(page.getByText("no hard links: files that commits share are copied")).toBeTruthy();
  expect(page.getByText("permissions")).toBeTruthy();
  expect(page.queryByText(/share blocks/)).toBeNull();
});

it("says a volume's problem", async () => {
  const page = await showPage(<VolumeSpace volume={aVolume({ problem: "It is not mounted." })} />);
  expect(page.getByRole("alert").textContent).toContain("It is not mounted.");
});
