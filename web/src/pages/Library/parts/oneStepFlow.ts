/** A flow that runs one component alone. */
import type { LibraryComponent } from "../../../api/shapes";
import { setIn } from "../../../lib/flow/patch";
import { addStep, connect } from "../../../lib/flow/steps";

export interface OneStep {
  name: string;
  component: LibraryComponent;
  /** A dataset for each input, like `xray@main`; empty ones are left out. */
  inputs: Readonly<Record<string, string>>;
  params: Readonly<Record<string, unknown>>;
}

export function oneStepFlow({ name, component, inputs, params }: OneStep): string {
  const step = component.name;
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
  let text = "schema: millpond.flow/1\n";
  text = setIn(text, ["name"], name);
  text = setIn(text, ["description"], `Runs the component ${component.name} alone.`);
  const chosen = Object.entries(inputs).filter(([, dataset]) => dataset.trim() !== "");
  for (const [input, dataset] of chosen)
    text = addStep(text, `${input}-data`, { dataset: dataset.includes("@") ? dataset : `${dataset}@main` });
  text = addStep(text, step, {
    component: `${component.name}@${component.version}`,
    ...(Object.keys(given).length > 0 ? { params: given } : {}),
  });
  return chosen.reduce((done, [input]) => connect(done, { step: `${input}-data` }, { step, input }), text);
}
