import type { EngineEvent, ThreadOver } from '../../engine/events.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { LiveLine } from './live-line.ts';
import type { Output } from '../output/output.ts';
import { createPalette } from '../output/palette.ts';
import { RunStory } from './run-story.ts';
import { allHarmless } from '../output/width.ts';

/** Shows a run while it goes on. */
export interface RunView {
  tell(event: EngineEvent): void;
  /** Asks the person at the terminal. Meanwhile nothing is drawn, and lines wait. */
  whileAsking<Answer>(ask: () => Promise<Answer>): Promise<Answer>;
  /** Resolves when everything told was shown. */
  close(): Promise<void>;
}

/**
 * Creates the view of a run: JSON lines on stdout under `--json`; else a line on stderr for each finished step, and below
 * them a status line on a terminal.
 * @param asked the thread that was asked for; default: the first that is heard of
 */
export function createRunView(cli: CliEnvironment, out: Output, asked?: string): RunView {
  return out.isJson ? jsonView(out) : textView(cli, asked);
}

function jsonView(out: Output): RunView {
  let written: Promise<void> = Promise.resolve();
  return {
    tell(event) {
      written = written.then(() => out.line(inOrderOfRun(event)));
      // `close` reports it. An unhandled rejection would end the process in the middle of a turn.
      written.catch(() => {});
    },
    whileAsking: (ask) => ask(),
    close: () => written,
  };
}

/** The last line of a run has the fields that scripts rely on first. */
export function inOrderOfRun(event: EngineEvent | ThreadOver): object {
  if (!('returnCode' in event)) return event;
  const { event: name, thread, status, returnCode, head, ...rest } = event;
  return { event: name, thread, status, returnCode, head, ...rest };
}

function textView(cli: CliEnvironment, asked: string | undefined): RunView {
  const columns = cli.stderr.isTTY === true ? cli.stderr.columns : undefined;
  const paint = createPalette(cli.stderr, cli.env);
  const story = new RunStory(paint, columns, asked);
  const live = cli.stderr.isTTY === true && cli.env['TERM'] !== 'dumb' ? new LiveLine(cli) : undefined;
  /** Lines that wait while a person is asked; several questions may be open. */
  const waiting: string[] = [];
  let questions = 0;
  const write = (line: string): void => {
    live?.erase();
    cli.stderr.write(`${allHarmless(line, paint)}\n`);
  };
  return {
    tell(event) {
      const line = story.lineFor(event);
      // The status line counts a pause down.
      if (event.event === 'agent.pause' && live !== undefined) return live.tell(event);
      if (line !== undefined && questions > 0) waiting.push(line);
      else if (line !== undefined) write(line);
      live?.tell(event);
    },
    async whileAsking(ask) {
      questions += 1;
      live?.hold(true);
      try {
        return await ask();
      } finally {
        questions -= 1;
        if (questions === 0) {
          live?.hold(false);
          for (const line of waiting.splice(0)) write(line);
        }
      }
    },
    close() {
      live?.clear();
      return Promise.resolve();
    },
  };
}
