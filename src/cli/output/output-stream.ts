/** A stream that text is written to, and what is known of the terminal behind it. */
export interface OutputStream {
  write(text: string | Uint8Array): unknown;
  /** True for a terminal. */
  isTTY?: boolean | undefined;
  /** The terminal's width and height in characters. */
  columns?: number | undefined;
  rows?: number | undefined;
}
