import { listThreads } from '../../engine/describe/list-threads.ts';
import { listRemotes } from '../../git/repository/own-programs.ts';
import { lineOfStored } from '../../thread/commit-message.ts';
import { findByPrefix, getThread, listPointers } from '../../thread/find-thread.ts';
import { readSteps } from '../../thread/thread-chain.ts';
import { threadStatuses } from '../../thread/thread-state.ts';
import { statusOf } from '../../thread/thread-commit.ts';
import { listWorkflowFiles } from '../../workflow/load/resolve-workflow.ts';
import { WORKFLOWS_PREFIX } from '../../workflow/registry/workflow-refs.ts';
import type { Candidates } from '../command-line/command.ts';
import { findCommand, splitFront, toCommander, withOptionalValues } from '../command-line/read-words.ts';
import { commandTable, type CommandEntry } from '../commands/command-table.ts';
import { shippedNames } from '../init/prepare-files.ts';
import { configHere } from '../open/open-config.ts';
import { openForReading } from '../open/open-repository.ts';
import { oneLine } from '../output/text.ts';
import { environmentIn, type CliEnvironment } from '../process/cli-environment.ts';

/** Completes the last of the words typed after `uwf`, which may be empty; to nothing where a file's name belongs. */
export async function complete(cli: CliEnvironment, words: readonly string[]): Promise<Candidate[]> {
  const current = words.at(-1) ?? '';
  const typed = words.slice(0, -1);
  const folder = folderIn(typed);
  const here = folder === undefined ? cli : environmentIn(cli, { folder: readAsShell(folder, cli.env['HOME']) });
  const found = await findCandidates(here, typed, current);
  return found.filter(({ word }) => word.startsWith(current) || word.startsWith(current.toUpperCase()));
}

/** The folder of `-C`, before the command or behind it. */
function folderIn(words: readonly string[]): string | undefined {
  const place = words.findLastIndex((word) => word.startsWith('-C'));
  const word = words[place];
  return word === '-C' ? words[place + 1] : word?.slice(2);
}

/** A word without its quotes: shells hand words over as they were typed. */
function readAsShell(word: string, home = '~'): string {
  return word.replace(/^~(?=\/|$)/, () => home).replaceAll(/\\(.)|["']/g, '$1');
}

async function findCandidates(cli: CliEnvironment, typed: readonly string[], current: string): Promise<Candidate[]> {
  const { words, isHelp } = splitFront(typed);
  const asksForHelp = isHelp || words[0] === 'help';
  const [first, second] = words[0] === 'help' ? words.slice(1) : words;
  if (first === undefined)
    return [...firstWords(), ...(asksForHelp ? [] : [{ word: 'help', about: 'what a command does' }])];
  const ofNoun = verbsOf(first);
  if (second === undefined && (asksForHelp || (ofNoun.length > 0 && !current.startsWith('-')))) return ofNoun;
  if (asksForHelp) return [];
  const target = findCommand(typed);
  return target.kind === 'command' ? ofCommand(cli, target.entry, target.argv, current) : [];
}

function verbsOf(noun: string): Candidate[] {
  return commandTable
    .filter((entry) => entry.noun === noun)
    .map(({ verb, summary }) => ({ word: verb, about: summary }));
}

/** Nouns and commands of one word, each once. */
function firstWords(): Candidate[] {
  const words = new Map<string, string>();
  for (const { noun, verb, summary } of commandTable) {
    const word = noun ?? verb;
    if (!words.has(word)) words.set(word, noun === undefined ? summary : `commands for ${noun}s`);
  }
  return [...words].map(([word, about]) => ({ word, about }));
}

async function ofCommand(
  cli: CliEnvironment,
  entry: CommandEntry,
  rest: readonly string[],
  current: string,
): Promise<Candidate[]> {
  const command = await entry.load();
  const commander = toCommander(cli, entry, command);
  const last = rest.at(-1) ?? '';
  const letter = /^-\w+$/.test(last) ? `-${last.at(-1)}` : '';
  const waiting = commander.options.find(
    ({ required, long, short }) => required && (last === long || short === letter),
  );
  const { operands, unknown } = commander.parseOptions(
    withOptionalValues(commander, waiting ? rest.slice(0, -1) : rest),
  );
  if (unknown.length > 0) return [];
  const ofThread = ({ candidates }: { candidates?: Candidates }): boolean => candidates === 'thread';
  const [option] = Object.entries(command.options).find(([, spec]) => ofThread(spec)) ?? [];
  const given: unknown = option === undefined ? undefined : commander.getOptionValue(option);
  const thread =
    (typeof given === 'string' ? given : undefined) ??
    operands[command.arguments.findIndex(ofThread)] ??
    (cli.env['UWF_THREAD'] || undefined);
  const list = (candidates: Candidates | undefined): Promise<Candidate[]> =>
    candidates === undefined ? Promise.resolve([]) : listCandidates(cli, candidates, current, thread);
  if (waiting !== undefined) return list(command.options[waiting.name()]?.candidates);
  if (current.startsWith('-')) {
    return commander
      .createHelp()
      .visibleOptions(commander)
      .map(({ long, short = '', description }) => ({ word: long ?? short, about: description }));
  }
  const lastArgument = command.arguments.at(-1);
  const argument = command.arguments[operands.length] ?? (lastArgument?.isRepeatable ? lastArgument : undefined);
  return list(argument?.candidates);
}

/**
 * Writes candidates as the shells' scripts read them: `word<tab>description`, a line each.
 *
 * Left out are words that a terminal would not show as they are, and those that the shell might read as more than a word.
 */
export function candidateLines(candidates: readonly Candidate[]): string {
  return candidates
    .filter(({ word }) => word === oneLine(word) && !/[\s"'`$&|;<>()*?[\]{}!\\#]/.test(word))
    .map(({ word, about }) => `${word}\t${oneLine(about)}\n`)
    .join('');
}

export type Candidate = { word: string; about: string };

/** More candidates are no help to a person. */
const MAX_CANDIDATES = 50;

/**
 * Lists the words that begin with `current` and fit a kind of argument; none for files, which the shell completes itself.
 * Steps are those of `thread`; without one, of the newest threads.
 */
async function listCandidates(
  cli: CliEnvironment,
  candidates: Candidates,
  current: string,
  thread?: string,
): Promise<Candidate[]> {
  if (typeof candidates !== 'string') return candidates.map((word) => ({ word, about: '' }));
  switch (candidates) {
    case 'thread': {
      const repository = await openForReading(cli);
      const typed = current.toUpperCase();
      // Beside the newest there are older ones, which are found by how they begin.
      const like = typed === '' ? undefined : await findByPrefix(repository, typed, { damaged: () => {} });
      const threads = await listThreads(
        { repository },
        {
          statuses: threadStatuses,
          limit: MAX_CANDIDATES,
          among: like && new Set(like.map(({ id }) => id)),
        },
      );
      return threads.map(({ thread, status, workflow, prompt }) => ({
        word: thread,
        about: `${status}  ${workflow}  ${prompt}`,
      }));
    }
    case 'step':
      return listSteps(cli, thread);
    case 'workflow':
      return listWorkflowNames(cli);
    case 'shipped-workflow':
      return shippedNames().map((word) => ({ word, about: 'comes with uwf' }));
    case 'remote': {
      const { location } = await openForReading(cli);
      const names = location === undefined ? [] : await listRemotes({ location, env: cli.env });
      return names.map((word) => ({ word, about: 'a remote' }));
    }
    case 'agent': {
      const { agents } = await configHere(cli, await openForReading(cli));
      return Object.values(agents).map((agent) => ({ word: agent.name, about: agent.package }));
    }
    default:
      return [];
  }
}

async function listWorkflowNames(cli: CliEnvironment): Promise<Candidate[]> {
  const repository = await openForReading(cli);
  const names = new Map<string, string>();
  for (const { name } of await repository.refs.list(WORKFLOWS_PREFIX))
    names.set(name.slice(WORKFLOWS_PREFIX.length), 'registered');
  for (const { name, file } of await listWorkflowFiles(repository, cli.cwd)) names.set(name, file);
  return [...names].map(([word, about]) => ({ word, about }));
}

/** Lists the hashes of steps, newest first; of a single thread their numbers too. */
async function listSteps(cli: CliEnvironment, thread: string | undefined): Promise<Candidate[]> {
  const repository = await openForReading(cli);
  const pointers = thread === undefined ? await listPointers(repository) : [await getThread(repository, thread)];
  const found = new Map<string, Candidate>();
  for (const { head } of pointers.toReversed()) {
    if (found.size >= MAX_CANDIDATES) break;
    for (const { commit, text } of (await readSteps(repository, head, MAX_CANDIDATES)).steps.toReversed()) {
      const { number, role, meta } = commit.node;
      const about = `${number}  ${role} ${statusOf(meta) ?? ''}  ${lineOfStored(commit, text)}`;
      if (thread !== undefined) found.set(String(number), { word: String(number), about });
      found.set(commit.hash, { word: commit.hash, about });
    }
  }
  return [...found.values()];
}
