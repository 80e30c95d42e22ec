import { Button, Code, FileInput, Group, Progress, Stack, Text, Textarea } from "@mantine/core";
import { IconPhoto } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { servedModelQuery, type Tensor, type TensorShape, useInfer } from "../../../api/endpoints";
import type { Endpoint } from "../../../api/shapes";
import { ErrorNotice } from "../../../components/ErrorNotice";
import { Loaded } from "../../../components/Loaded";
import { Section } from "../../../components/Section";
import { formatNumber } from "../../../lib/metric";
import { bestScores, exampleText, imageLayout, imageValues, typedTensor } from "./tensors";

/** A form made from the model's inputs, and what the endpoint answers. */
export function TryIt({ endpoint }: { endpoint: Endpoint }) {
  const place = { project: endpoint.project, endpoint: endpoint.name };
  const result = useQuery(servedModelQuery(place));
  const infer = useInfer(place);
  return (
    <Loaded result={result}>
      {(model) => (
        <Stack gap="xl">
          <Inputs inputs={model.inputs} busy={infer.isPending} onSend={(tensors) => infer.mutate(tensors)} />
          {infer.error && <ErrorNotice error={infer.error} />}
          {infer.data && (
            <Section title="Answer">
              <Stack p="md">
                <Text size="sm" c="dimmed">
                  Version {infer.data.model_version}, {formatNumber(infer.data.milliseconds)} ms with the way
                  here
                </Text>
                {infer.data.outputs.map((output) => (
                  <Output key={output.name} output={output} />
                ))}
              </Stack>
            </Section>
          )}
        </Stack>
      )}
    </Loaded>
  );
}

interface InputsProps {
  inputs: readonly TensorShape[];
  busy: boolean;
  onSend: (tensors: Tensor[]) => void;
}

function Inputs({ inputs, busy, onSend }: InputsProps) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [images, setImages] = useState<Record<string, File | null>>({});
  const [problem, setProblem] = useState("");
  const textOf = (input: TensorShape) => texts[input.name] ?? exampleText(input);
  const send = async (event: React.FormEvent) => {
    event.preventDefault();
    const tensors: Tensor[] = [];
    for (const input of inputs) {
      const image = images[input.name];
      const made = image ? await imageTensor(input, image) : typedTensor(input, textOf(input));
      if (typeof made === "string") return setProblem(made);
      tensors.push(made);
    }
    setProblem("");
    onSend(tensors);
  };
  return (
    <Section title="Request">
      <form onSubmit={(event) => void send(event)}>
        <Stack p="md">
          {inputs.map((input) => (
            <InputField
              key={input.name}
              input={input}
              text={textOf(input)}
              image={images[input.name] ?? null}
              onText={(text) => setTexts({ ...texts, [input.name]: text })}
              onImage={(image) => setImages({ ...images, [input.name]: image })}
            />
          ))}
          {problem && (
            <Text c="red" size="sm" role="alert">
              {problem}
            </Text>
          )}
          <Group>
            <Button type="submit" loading={busy}>
              Send
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

interface FieldProps {
  input: TensorShape;
  text: string;
  image: File | null;
  onText: (text: string) => void;
  onImage: (image: File | null) => void;
}

function InputField({ input, text, image, onText, onImage }: FieldProps) {
  const label = `${input.name}: ${input.datatype} [${input.shape.join(", ")}]`;
  const drop = (event: React.DragEvent) => {
    const file = event.dataTransfer.files[0];
    if (!file) return;
    event.preventDefault();
    onImage(file);
  };
  return (
    <Stack gap="xs" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      {imageLayout(input) && (
        <FileInput
          label={label}
          description="Choose an image, or drop one here. It is scaled to the size that the model wants."
          accept="image/*"
          leftSection={<IconPhoto size={16} aria-hidden />}
          placeholder="Image"
          clearable
          value={image}
          onChange={onImage}
        />
      )}
      {!image && (
        <Textarea
          label={imageLayout(input) ? "Or values" : label}
          description="As JSON: a number, or a list like [1, 2.5, 3]."
          autosize
          minRows={2}
          maxRows={12}
          value={text}
          onChange={(event) => onText(event.currentTarget.value)}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        />
      )}
    </Stack>
  );
}

/** The image as the input wants it; a text that says what is wrong otherwise. */
async function imageTensor(input: TensorShape, file: File): Promise<Tensor | string> {
  const layout = imageLayout(input);
  if (!layout) return `${input.name} takes no image.`;
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    return `${file.name} is not an image that this browser reads.`;
  }
  const { height, width, channels, isFirst } = layout;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) return "This browser cannot draw images.";
  context.drawImage(bitmap, 0, 0, width, height);
  const values = imageValues(
    context.getImageData(0, 0, width, height).data,
    layout,
    input.datatype.startsWith("FP"),
  );
  const sizes = isFirst ? [channels, height, width] : [height, width, channels];
  return { ...input, shape: input.shape.length === 4 ? [1, ...sizes] : sizes, data: values };
}

function Output({ output }: { output: Tensor }) {
  const scores = bestScores(output);
  const highest = scores?.[0]?.value || 1;
  return (
    <div>
      <Text size="sm" fw={600}>
        {output.name}{" "}
        <Text span size="xs" c="dimmed">
          {output.datatype} [{output.shape.join(", ")}]
        </Text>
      </Text>
      {scores ? (
        <Stack gap={4} mt={4}>
          {scores.map(({ index, value }) => (
            <Group key={index} gap="sm" wrap="nowrap">
              <Text size="sm" w={80}>
                Class {index}
              </Text>
              <Progress
                value={Math.max(0, (value / highest) * 100)}
                style={{ flexGrow: 1 }}
                aria-label={`Class ${index}`}
              />
              <Text size="sm" w={90} ta="right">
                {formatNumber(value)}
              </Text>
            </Group>
          ))}
        </Stack>
      ) : (
        <Code block mah={300} style={{ overflow: "auto" }}>
          {JSON.stringify(output.data.slice(0, 1000))}
        </Code>
      )}
    </div>
  );
}
