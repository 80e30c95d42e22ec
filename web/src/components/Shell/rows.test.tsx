import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import { chooseRow, moveInRows } from "./rows";

function List() {
  return (
    <main id="main">
      <table>
        <tbody>
          {["one", "two"].map((name) => (
            <tr key={name}>
              <td>
                <input type="checkbox" aria-label={`Choose ${name}`} />
              </td>
              <td>
                <a href={`#${name}`}>{name}</a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </main>
  );
}

it("goes from row to row and chooses the one it is in", () => {
  const page = render(<List />);
  moveInRows(1);
  expect(document.activeElement?.textContent).toBe("one");
  moveInRows(1);
  moveInRows(1);
  expect(document.activeElement?.textContent).toBe("two");
  chooseRow();
  expect((page.getByLabelText("Choose two") as HTMLInputElement).checked).toBe(true);
  moveInRows(-1);
  expect(document.activeElement?.textContent).toBe("one");
});

it("does nothing where there is no list", () => {
  moveInRows(1);
  chooseRow();
  expect(document.activeElement).toBe(document.body);
});
