import { isEndOfRun } from './run-story.ts';
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

/** The status line at the bottom of a terminal: which role works, for how long, and the last line of its text. */
export class LiveLine {
  readonly #cli: CliEnvironment;
  #work: { role: string; agent: string; thread: string; startedMs: number; said: string; pause?: Pause } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;
  #isHeld = false;

  constructor(cli: CliEnvironment) {
    this.#cli = cli;
  }

  tell(event: EngineEvent): void {
    switch (event.event) {
      case 'step.started':
        this.#work = { ...event, startedMs: performance.now(), said: '' };
        this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS).unref();
        break;
      case 'agent.text':
      case 'agent.thought':
        this.#say(event.text);
        break;
      case 'agent.tool':
        this.#say(`\n[${event.name}]\n`);
        break;
      case 'agent.pause':
        if (this.#work) this.#work.pause = { untilMs: performance.now() + event.durationMs, text: event.text };
        break;
      default:
        if (event.event === 'step.finished' || isEndOfRun(event)) this.clear();
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
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #say(text: string): void {
    if (this.#work) this.#work.said = (this.#work.said + text).slice(-MAX_SAID);
  }

  #draw(): void {
    const work = this.#work;
    if (!work || this.#isHeld) return;
    const paint = createPalette(this.#cli.stderr, this.#cli.env);
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const who = oneLine(`${work.role} (${work.agent})`);
    const elapsed = formatDuration(performance.now() - work.startedMs);
    const leftMs = (work.pause?.untilMs ?? 0) - performance.now();
    const last =
      work.pause !== undefined && leftMs > 0
        ? `waiting ${formatDuration(leftMs)} more: ${oneLine(work.pause.text)}`
        : oneLine(work.said.split('\n').findLast((line) => line.trim() !== '') ?? '');
    const room = (this.#cli.stderr.columns ?? 80) - who.length - elapsed.length - 8;
    const said = paint.quiet(fitTo(last, Math.max(room, 0)));
    this.#cli.stderr.write(`\r\u001B[K${FRAMES[this.#frame] ?? ''} ${paint.name(who)} ${elapsed}  ${said}`);
  }
}
