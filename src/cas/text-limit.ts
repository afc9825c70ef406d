import { UwfError } from '../errors.ts';

/**
 * The longest prompt, answer or reply, in bytes of UTF-8: half of the longest result of a template, so that rules can quote it.
 * Threads with longer texts stay readable.
 */
export const MAX_TEXT_BYTES: number = 2 * 1024 * 1024;
/** The longest reason of a suspension, which is shown as it is. */
export const MAX_REASON_BYTES: number = 64 * 1024;

/** A text is too long for a thread. Nothing was stored. */
export class TextTooLong extends UwfError {
  constructor(fault: string) {
    super(`${fault}; nothing was stored`, {
      code: 'text-too-long',
      kind: 'usage',
      hint: 'write it to a file of the repository and say in the text where it is',
    });
  }
}

/** @throws {TextTooLong} if a text is longer than {@link MAX_TEXT_BYTES} @param what its name in a sentence: `the prompt` */
export function assertTextFits(what: string, text: string): void {
  const fault = faultOfLength(what, text);
  if (fault !== undefined) throw new TextTooLong(fault);
}

/** Says how much too long a text is; `undefined` if it is not. */
export function faultOfLength(what: string, text: string, maxBytes: number = MAX_TEXT_BYTES): string | undefined {
  // A UTF-16 unit takes three bytes at most.
  if (text.length * 3 <= maxBytes) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes <= maxBytes ? undefined : `${what} has ${bytes} bytes, and ${maxBytes} is the most`;
}

/** Returns a text, or the beginning and the end of one that is too long, with a line between them that says so. */
export function cutToFit(text: string, maxBytes: number = MAX_TEXT_BYTES): string {
  if (faultOfLength('it', text, maxBytes) === undefined) return text;
  const bytes = Buffer.from(text);
  const half = maxBytes / 2 - 100;
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(-half)].map((part) => part.toString('utf8'));
  const left = bytes.length - 2 * half;
  return `${head?.replace(/\uFFFD+$/, '')}\n\n[${left} bytes are left out here]\n\n${tail?.replace(/^\uFFFD+/, '')}`;
}
