/** What a file's name says about how to show it. The bytes decide in the end: a broken image is said to be broken. */

// SVG can carry scripts; inside <img> browsers run none of them.
const IMAGES = /\.(png|jpe?g|gif|webp|bmp|avif|ico|svg)$/i;

export function isImage(name: string): boolean {
  return IMAGES.test(name);
}
