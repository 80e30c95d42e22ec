/** Values that people type or drop, as the inputs of a model; and what its outputs say. */
import type { Tensor, TensorShape } from "../../../api/endpoints";

/** How an input takes an image: its size, its channels, and whether they come first. */
export interface ImageLayout {
  height: number;
  width: number;
  channels: number;
  isFirst: boolean;
}

const DEFAULT_SIZE = 224;

/** Dimensions of one sample: the first of four is the batch. */
function sampleShape({ shape }: TensorShape): number[] {
  return shape.length === 4 ? shape.slice(1) : shape;
}

/** Null for what is no image. */
export function imageLayout(input: TensorShape): ImageLayout | null {
  if (!/^(FP|UINT8|INT)/.test(input.datatype)) return null;
  const [a, b, c] = sampleShape(input);
  if (sampleShape(input).length !== 3 || a === undefined || b === undefined || c === undefined) return null;
  const size = (value: number) => (value > 0 ? value : DEFAULT_SIZE);
  if (a === 1 || a === 3) return { height: size(b), width: size(c), channels: a, isFirst: true };
  if (c === 1 || c === 3) return { height: size(a), width: size(b), channels: c, isFirst: false };
  return null;
}

/** Values of an image in the order that the input has; from 0 to 1 for floats, to 255 for whole numbers. */
export function imageValues(
  pixels: Uint8ClampedArray,
  { height, width, channels, isFirst }: ImageLayout,
  isFloat: boolean,
): number[] {
  const values = new Array<number>(height * width * channels);
  const scale = isFloat ? 255 : 1;
  for (let at = 0; at < height * width; at++) {
    const [red = 0, green = 0, blue = 0] = pixels.subarray(at * 4, at * 4 + 3);
    const shades = channels === 1 ? [0.299 * red + 0.587 * green + 0.114 * blue] : [red, green, blue];
    shades.forEach((shade, channel) => {
      const place = isFirst ? channel * height * width + at : at * channels + channel;
      values[place] = (isFloat ? shade : Math.round(shade)) / scale;
    });
  }
  return values;
}

/** The tensor that a typed text stands for; a text that says what is wrong otherwise. */
export function typedTensor(input: TensorShape, text: string): Tensor | string {
  let value: unknown;
  try {
    value = input.datatype === "BYTES" && !text.trim().startsWith("[") ? [text] : JSON.parse(text);
  } catch {
    return `${input.name}: write a number, or a list like [1, 2.5, 3].`;
  }
  const nested = Array.isArray(value) ? value : [value];
  const found = shapeOf(nested);
  if (!found) return `${input.name}: the rows of a list must be equally long.`;
  const shape = fitted(found, input.shape);
  if (!shape)
    return `${input.name} wants the shape [${input.shape.join(", ")}], and this is [${found.join(", ")}].`;
  return { name: input.name, datatype: input.datatype, shape, data: nested.flat(Number.POSITIVE_INFINITY) };
}

/** Null for rows of different lengths. */
function shapeOf(value: unknown): number[] | null {
  if (!Array.isArray(value)) return [];
  const inner = value.map(shapeOf);
  const first = inner[0] ?? [];
  if (inner.some((one) => one === null || one.join() !== first?.join())) return null;
  return [value.length, ...(first ?? [])];
}

/** The shape with a batch of one before it where the model wants one. Null if it does not fit. */
function fitted(found: number[], wanted: number[]): number[] | null {
  const fits = (shape: number[]) =>
    shape.length === wanted.length && shape.every((size, at) => wanted[at] === -1 || wanted[at] === size);
  if (fits(found)) return found;
  return fits([1, ...found]) ? [1, ...found] : null;
}

/** A first value to be changed: zeros of the right shape. */
export function exampleText({ datatype, shape }: TensorShape): string {
  if (datatype === "BYTES") return "text";
  const sizes = shape.map((size) => (size > 0 ? size : 1));
  if (sizes.reduce((product, size) => product * size, 1) > 200) return "";
  const zeros = (at: number): unknown =>
    at === sizes.length
      ? datatype === "BOOL"
        ? false
        : 0
      : Array.from({ length: sizes[at] ?? 1 }, () => zeros(at + 1));
  return JSON.stringify(zeros(0));
}

export interface Score {
  index: number;
  value: number;
}

/** The highest values of an output that looks like scores of classes; null for anything else. */
export function bestScores(output: Tensor, count = 5): Score[] | null {
  const numbers = output.data.filter((value): value is number => typeof value === "number");
  const isRow = output.shape.filter((size) => size !== 1).length === 1;
  if (!isRow || numbers.length !== output.data.length || numbers.length < 2) return null;
  return numbers
    .map((value, index) => ({ index, value }))
    .sort((one, two) => two.value - one.value)
    .slice(0, count);
}
