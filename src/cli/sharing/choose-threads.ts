import type { Config } from '../../engine/config/config.ts';
import type { Repository } from '../../git/repository.ts';
import { listRemotes } from '../../git/repository/own-programs.ts';
import type { Remote } from '../../git/transport/remote.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import type { ChooseNew, NewThread } from '../../sync/new-threads.ts';
import { plural } from '../../text/wording.ts';
import { askKey } from '../ask/ask.ts';
import type { ArgumentSpec, TextOption } from '../command-line/command.ts';
import { configOrNone } from '../open/open-config.ts';
import { openRemoteHere } from '../open/open-remote.ts';
import { openForReading } from '../open/open-repository.ts';
import type { Output } from '../output/output.ts';
import { oneLine, createPalette } from '../output/text.ts';
import { canAskForConsent, type CliEnvironment } from '../process/cli-environment.ts';
import { aboutThreads, formatAbout } from './sync-report.ts';

export const remoteArguments: readonly [
  ArgumentSpec & { name: 'remote'; isOptional: true },
  ArgumentSpec & { name: 'thread'; isOptional: true; isRepeatable: true },
] = [
  {
    name: 'remote',
    summary: 'a remote that git knows, a URL, a path or a bundle; by default the one that git would choose',
    isOptional: true,
    candidates: 'remote',
  },
  {
    name: 'thread',
    summary: 'only these threads, by their ids or first characters; the remote may be left out before them',
    isOptional: true,
    isRepeatable: true,
    candidates: 'thread',
  },
];

/** The option that says the same as arguments behind a remote do. */
export const onlyThreadsOption: TextOption & { isRepeatable: true } = {
  short: 't',
  value: '<thread>',
  summary: 'only this thread; may be given several times',
  isRepeatable: true,
  candidates: 'thread',
};

/** Which remote a command line means, and which threads; no thread means all of them. */
type RemoteWords = { remote: string | undefined; threads: string[] };

/**
 * How a thread's id begins, from four characters on: every id that is made before the year 3084 begins with a zero. A path
 * of this form can be written `./01KA`.
 */
const threadLike = /^0[0-9A-HJKMNP-TV-Z]{3,25}$/i;

/**
 * Reads the words after `push`, `fetch` or `sync`. The first is the remote, unless it looks like a thread's id and git knows
 * no remote of this name.
 */
export function readRemoteWords(
  first: string | undefined,
  others: readonly string[],
  names: readonly string[],
): RemoteWords {
  if (first === undefined || names.includes(first) || !threadLike.test(first)) {
    return { remote: first, threads: [...others] };
  }
  return { remote: undefined, threads: [first, ...others] };
}

/** Opens the repository and the remote that a command line means. `threads` is `undefined` where none is named: all are meant. */
export async function openExchange(
  cli: CliEnvironment,
  args: { remote: string | undefined; thread: readonly string[] },
  given: readonly string[],
  direction: 'push' | 'fetch',
): Promise<{ repository: Repository; remote: Remote; threads: string[] | undefined }> {
  const repository = await openForReading(cli);
  const { location } = repository;
  const mayBeThread = args.remote !== undefined && threadLike.test(args.remote);
  const names = mayBeThread && location !== undefined ? await listRemotes({ location, env: cli.env }) : [];
  const words = readRemoteWords(args.remote, args.thread, names);
  const threads = [...words.threads, ...given];
  const remote = await openRemoteHere(cli, repository, { name: words.remote, direction });
  return { repository, remote, threads: threads.length > 0 ? threads : undefined };
}

type PushWorld = { cli: CliEnvironment; out: Output; repository: Repository; remote: Remote; redactor: Redactor };

/** Who chooses the threads of a push that the remote does not have yet: all of them, a person at the terminal, or none. */
export class NewThreadsChoice {
  readonly #world: PushWorld;
  readonly #config: Config;
  readonly #mode: { isAll: boolean; isDry: boolean };
  isAsked = false;

  private constructor(world: PushWorld, config: Config, mode: { isAll: boolean; isDry: boolean }) {
    this.#world = world;
    this.#config = config;
    this.#mode = mode;
  }

  /** @param given `all` as `--all` says it; `isDry` if nothing is sent, so that nothing is asked */
  static async open(world: PushWorld, given: { all: boolean; isDry?: boolean }): Promise<NewThreadsChoice> {
    const config = await configOrNone(world.cli, world.repository);
    const isAll = given.all || config.push === 'all';
    return new NewThreadsChoice(world, config, { isAll, isDry: given.isDry === true });
  }

  /** What a push is told; `undefined` where all threads are sent. @param pause takes progress off the terminal */
  chooseNew(pause: () => void): ChooseNew | undefined {
    if (this.#mode.isAll) return undefined;
    const mayAsk = !this.#mode.isDry && canAskForConsent(this.#world.cli);
    return (threads) => (mayAsk ? this.#ask(threads, pause) : Promise.resolve(new Set()));
  }

  /** The threads that stay here although no person said so. */
  undecided(unsent: readonly NewThread[] = []): readonly NewThread[] {
    return this.isAsked ? [] : unsent;
  }

  /** Says how the threads are sent that no person was asked about. */
  hint(unsent: readonly NewThread[] = []): void {
    const [first] = this.undecided(unsent);
    if (first === undefined) return;
    const { out, remote } = this.#world;
    const which = unsent.length === 1 ? 'this thread is' : `these ${unsent.length} threads are`;
    out.hint(`${which} new there: 'uwf push ${remote.name} ${first.thread}' sends one, and --all sends all`);
    const isNotAgreed = this.#config.settings?.some(({ name, value }) => name === 'push' && value === 'all') === true;
    if (isNotAgreed)
      out.hint("this repository's configuration says 'push: all', which counts once you agree: 'uwf trust'");
  }

  async #ask(threads: readonly NewThread[], pause: () => void): Promise<Set<NewThread['thread']>> {
    const { cli, repository, remote, redactor } = this.#world;
    const about = await aboutThreads(repository, threads, redactor);
    pause();
    this.isAsked = true;
    const paint = createPalette(cli.stderr, cli.env);
    const lines = threads.map(({ thread, below }) => {
      const along = below.length === 0 ? '' : `  (and ${plural(below.length, 'thread')} below it)`;
      return `  ${paint.id(thread)}  ${formatAbout(about(thread))}${along}`;
    });
    cli.stderr.write(`\n${paint.title(`New at ${oneLine(remote.url)}:`)}\n${lines.join('\n')}\n`);
    const which = threads.length === 1 ? 'this thread' : `these ${threads.length} threads`;
    const key = await askKey(cli, `Send ${which}, too? [y/N]`, 'yn\r\n');
    return new Set(key === 'y' ? threads.map(({ thread }) => thread) : []);
  }
}
