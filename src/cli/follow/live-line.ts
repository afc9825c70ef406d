import { isEndOfRun } from './is-end-of-run.ts';
import type { EngineEvent } from '../../engine/events.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { createPalette } from '../output/palette.ts';
import { formatDuration } from '../../format-time.ts';
import { fitTo, oneLine } from '../output/width.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const REDRAW_MS = 100;
/** How many characters of an agent's text are kept to find its last line. */
const MAX_SAID = 2000;

/** Until when an agent waits, and why. */
type Pause = { untilMs: number; text: string };

/** A turn that goes on. */
type Work = { role: string; agent: string; startedMs: number; said: string; pause?: Pause };

/**
 * The status line at the bottom of a terminal: which role works, for how long, and the last line of its text. Of several branches it
 * tells how many work and how many are over, and shows the turn that began last.
 */
export class LiveLine {
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
