import type { CliContext } from '../context.ts';

/** The terminal of a process, as far as what is typed at it goes. */
export type Keyboard = NodeJS.ReadableStream & {
  setRawMode?: (isRaw: boolean) => unknown;
  readableEnded?: boolean;
  unshift(rest: Uint8Array): void;
};

/** The process's own terminal is a stream of that kind, too. */
export function keyboardOf(cli: Pick<CliContext, 'stdin'>): Keyboard {
  return cli.stdin as unknown as Keyboard;
}

/**
 * Waits for what is typed.
 *
 * @param take is given each piece, and says what it comes to; `undefined` where more is needed
 * @returns what `take` said; `undefined` where there is no more input
 * @throws the reason of the command's signal, or of `signal`, when that is aborted
 */
export async function nextTyped(
  cli: CliContext,
  take: (typed: Buffer) => string | undefined,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const keyboard = keyboardOf(cli);
  const stopped = AbortSignal.any([cli.signal, ...(signal ? [signal] : [])]);
  stopped.throwIfAborted();
  if (keyboard.readableEnded) return undefined;
  let end = (): void => {};
  try {
    return await new Promise<string | undefined>((resolve, reject) => {
      const onData = (chunk: Buffer | string): void => {
        const taken = take(Buffer.from(chunk as string));
        if (taken !== undefined) resolve(taken);
      };
      const onEnd = (): void => resolve(undefined);
      // An abort's reason is whatever the one who aborts gives.
      const onAbort = (): void => reject(stopped.reason as Error);
      end = () => {
        keyboard.off('data', onData).off('end', onEnd);
        stopped.removeEventListener('abort', onAbort);
      };
      keyboard.on('data', onData).on('end', onEnd);
      stopped.addEventListener('abort', onAbort, { once: true });
      keyboard.resume();
    });
  } finally {
    end();
    keyboard.pause();
  }
}
