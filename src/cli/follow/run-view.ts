import type { EngineEvent, ThreadOver } from '../../engine/events.ts';
import { formatDuration } from '../../text/wording.ts';
import type { Output } from '../output/output.ts';
import { allHarmless, createPalette, fitTo, oneLine } from '../output/text.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { isEndOfRun, RunStory } from './print-events.ts';

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

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const REDRAW_MS = 100;
/** How many characters of an agent's text are kept to find its last line. */
const MAX_SAID = 2000;

type Pause = { untilMs: number; text: string };

/** A turn that goes on. */
type Work = { role: string; agent: string; startedMs: number; said: string; pause?: Pause };

/**
 * The status line at the bottom of a terminal: which role works, for how long, and the last line of its text. Of several branches it
 * tells how many work and how many are over, and shows the turn that began last.
 */
class LiveLine {
  readonly #cli: CliEnvironment;
  /** The turns that go on, by thread, in the order in which they began. */
  readonly #works = new Map<string, Work>();
  /** The branches that have begun and are not over. */
  readonly #branches = new Set<string>();
  #branchesOver = 0;
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;
  #isHeld = false;

  constructor(cli: CliEnvironment) {
    this.#cli = cli;
  }

  tell(event: EngineEvent): void {
    const { thread } = event;
    switch (event.event) {
      case 'thread.started':
      case 'branch.continued':
        if (event.branch !== undefined) this.#branches.add(thread);
        break;
      case 'step.started':
        this.#works.delete(thread);
        this.#works.set(thread, { ...event, startedMs: performance.now(), said: '' });
        this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS).unref();
        break;
      case 'agent.text':
      case 'agent.thought':
        this.#say(thread, event.text);
        break;
      case 'agent.tool':
        this.#say(thread, `\n[${event.name}]\n`);
        break;
      case 'agent.pause': {
        const work = this.#works.get(thread);
        if (work) work.pause = { untilMs: performance.now() + event.durationMs, text: event.text };
        break;
      }
      default:
        if (event.event === 'step.finished' || isEndOfRun(event)) this.#finish(thread);
        if (isEndOfRun(event) && this.#branches.delete(thread)) this.#branchesOver += 1;
    }
  }

  /** Takes the line away while a person is asked something. */
  hold(isHeld: boolean): void {
    if (isHeld) this.erase();
    this.#isHeld = isHeld;
  }

  /** Makes room for other output; the line comes back below it. */
  erase(): void {
    if (this.#timer !== undefined && !this.#isHeld) this.#cli.stderr.write('\r\u001B[K');
  }

  /** Takes the line away, until the next step starts. */
  clear(): void {
    this.erase();
    this.#works.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #finish(thread: string): void {
    this.#works.delete(thread);
    if (this.#works.size === 0) this.clear();
  }

  #say(thread: string, text: string): void {
    const work = this.#works.get(thread);
    if (work) work.said = (work.said + text).slice(-MAX_SAID);
  }

  #draw(): void {
    const work = [...this.#works.values()].at(-1);
    if (!work || this.#isHeld) return;
    const paint = createPalette(this.#cli.stderr, this.#cli.env);
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const many =
      this.#branches.size === 0 ? '' : `${this.#branches.size} branches work, ${this.#branchesOver} are over · `;
    const who = oneLine(`${work.role} (${work.agent})`);
    const elapsed = formatDuration(performance.now() - work.startedMs);
    const leftMs = (work.pause?.untilMs ?? 0) - performance.now();
    const last =
      work.pause !== undefined && leftMs > 0
        ? `waiting ${formatDuration(leftMs)} more: ${oneLine(work.pause.text)}`
        : oneLine(work.said.split('\n').findLast((line) => line.trim() !== '') ?? '');
    const room = (this.#cli.stderr.columns ?? 80) - many.length - who.length - elapsed.length - 8;
    const said = paint.quiet(fitTo(last, Math.max(room, 0)));
    const frame = FRAMES[this.#frame] ?? '';
    this.#cli.stderr.write(`\r\u001B[K${frame} ${many}${paint.name(who)} ${elapsed}  ${said}`);
  }
}
