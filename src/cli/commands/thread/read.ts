import { readJournal, unfinishedTurn } from '../../../engine/journal/read-journal.ts';
import { mayBeAtWork } from '../../../engine/leases/find-lease.ts';
import type { FileChange } from '../../../git/process/revisions.ts';
import type { Repository } from '../../../git/repository.ts';
import { formatTime, plural } from '../../../text/wording.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { readSaidUpTo, type Said } from '../../../thread/read-said.ts';
import {
  diffSnapshots,
  type DiffStep,
  diffThreads,
  type StepPair,
  type ThreadDiff,
} from '../../../thread/step-files.ts';
import { readableMeta } from '../../../thread/step-view.ts';
import { readThreadCommit } from '../../../thread/thread-commit.ts';
import type { ThreadPointer } from '../../../thread/thread-id.ts';
import { type Command, defineCommand, parseCount, threadArgument } from '../../command-line/command.ts';
import { beforeOption, commitBefore } from '../../find/find-turn.ts';
import { followDebug, followStory } from '../../follow/follow-turn.ts';
import { openForReading } from '../../open/open-repository.ts';
import {
  formatMore,
  resumptionFields,
  suspensionFacts,
  suspensionFields,
  suspensionMarkdown,
} from '../../output/markdown.ts';
import type { Output } from '../../output/output.ts';
import { pathPrinter } from '../../output/path-printer.ts';
import { formatMeta } from '../../output/table.ts';
import { allHarmless, fitTo, harmless, oneLine, type Palette, widthOf } from '../../output/text.ts';

export const threadReadCommand: Command = defineCommand({
  description: `Prints the prompt and every reply, oldest first, as one Markdown text; of a suspended turn why it was
suspended, what was said in it, and the answer. Page through a long thread with --limit, for the last steps and everything
between them, and --before, for what is before a step, a suspension or an answer.

With --follow it then prints new texts and tool calls as they come, from any terminal of this machine, until no process
works on the thread. The text of a turn that was cut off comes last. --debug prints the other entries of this machine's
journal: decisions, leases, tries, times.`,
  arguments: [threadArgument],
  options: {
    limit: { short: 'n', value: '<n>', summary: 'only the last so many steps', parse: parseCount },
    before: beforeOption,
    follow: { short: 'f', summary: 'go on with what is said, until no process works on the thread' },
    debug: { summary: "print the engine's own lines instead" },
  },
  json: {
    kind: 'start (the prompt), step, suspend or resume (the answer)',
    role: 'whose turn it was; null for the prompt and an answer',
    text: "what was said: '' where nothing was",
    step: "the step's hash; null for what is no step",
    number: "the step's number; 0 for the prompt, null for a suspension and an answer",
    meta: "the reply's front matter; null for what is no step",
    completedAt: 'when',
    ...suspensionFields,
    usage: 'of a suspension: tokens, turns and cost of its turn, or null',
    ...resumptionFields,
    event: 'with --follow or --debug each line is an event, as of uwf run: what happened',
    at: 'when it happened, in ms since 1970',
    thread: 'the thread; of thread.started that of a child',
    name: 'the tool that is called',
    arguments: 'what it is given',
    result: 'what it gave back',
    id: 'which call it is',
    about: 'of a debug line: what it is about',
    facts: 'of a debug line: what it says',
  },
  examples: [
    { command: 'uwf thread read 01KAM4', comment: 'everything' },
    { command: 'uwf thread read 01KAM4 -n 3 --before 10', comment: 'steps 7, 8 and 9' },
    { command: 'uwf thread read 01KAM4 -n 1 --follow', comment: 'the last step, and then what goes on' },
    { command: 'uwf thread read 01KAM4 --debug', comment: 'why it went as it did' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const pointer = await getThread(repository, args.thread);
    const { id, head } = pointer;
    if (options.debug) return followDebug({ cli, out }, repository, id, options.follow);
    if (options.follow && out.isJson) return followStory({ cli, out }, repository, id, head);
    const { limit, before } = options;
    const from = before === undefined ? head : await commitBefore(repository, pointer, before);
    const said = await readSaidUpTo(repository, from, { limit });
    const text = (): string => said.map((entry) => format(entry, out)).join('\n\n');
    if (options.follow) {
      // No pager: it would wait for the end of what goes on.
      cli.stdout.write(said.length === 0 ? '' : allHarmless(`${text()}\n\n`, out.paint));
      return followStory({ cli, out }, repository, id, head);
    }
    await out.result(said, text);
    const first = said[0]?.number;
    if (first) out.hint(`what came before: --before ${first}`);
    if (await wasCutOff(repository, pointer)) out.hint(`the last turn was cut off; --follow shows its text`);
  },
});

/** Tells whether a turn began after the last step and no process works on it any more. */
async function wasCutOff(repository: Repository, { id, head }: ThreadPointer): Promise<boolean> {
  const { kind } = await readThreadCommit(repository, head);
  if (kind === 'end' || kind === 'suspend' || mayBeAtWork(repository, id)) return false;
  return unfinishedTurn(readJournal(repository, id)).length > 0;
}

function format(said: Said, { paint }: Output): string {
  const time = formatTime(Date.parse(said.completedAt));
  const by = said.by === undefined ? '' : `by ${oneLine(said.by)}`;
  const head = (title: string, ...facts: string[]): string =>
    `${paint.title(`# ${title}`)}\n${paint.quiet([time, ...facts, by].filter((fact) => fact !== '').join('  '))}`;
  const parts = (): string[] => {
    const text = harmless(said.text).trim();
    switch (said.kind) {
      case 'start':
        return [head('The task'), text];
      case 'step':
        return [
          head(`${said.number}. ${oneLine(said.role ?? '')}`, said.step ?? ''),
          formatMeta(readableMeta(said.meta ?? {})),
          text,
        ];
      case 'suspend': {
        const title = `${oneLine(said.role ?? '')} suspended: ${oneLine(said.reason)}`;
        return [head(title, said.suspension, suspensionFacts(said)), suspensionMarkdown(said, paint)];
      }
      case 'resume':
        return [head('Resumed', said.resumption, said.more ? `more ${formatMore(said.more)}` : ''), text];
    }
  };
  return parts()
    .filter((part) => part !== '')
    .join('\n\n');
}

const PIPE_COLUMNS = 120;

export const threadDiffCommand: Command = defineCommand({
  description: `Finds the newest commit that two threads share and shows the first step in which they differ, what each reported and
said side by side; then, in a line each, the steps after that. Where steps recorded the files they left, it lists how the files
of the one differ from those of the other.`,
  arguments: [
    { name: 'a', summary: "a thread's id, or its first characters", candidates: 'thread' },
    { name: 'b', summary: 'the other thread', candidates: 'thread' },
  ],
  options: { all: { short: 'a', summary: 'show every step that differs, not only the first' } },
  json: {
    a: 'the first thread',
    b: 'the second',
    ancestor: 'the newest commit that both have: head, kind, node, number of steps; null if none',
    firstDifference: 'the number of the first step that differs; null if none does',
    steps: 'the steps after the ancestor: number, isSame, and for a and b step, head, role, status, meta, text',
    files:
      'how the files of b differ from those of a: change, path (quoted as git does where it is not UTF-8), added, deleted; null if no step since recorded any, or only one thread has any',
  },
  examples: [
    { command: 'uwf thread diff 01KAM4 01KAM5', comment: 'a thread and its fork' },
    { command: 'uwf thread diff 01KAM4 01KAM5 --json=firstDifference', comment: 'where they part' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const [a, b] = [await getThread(repository, args.a), await getThread(repository, args.b)];
    const diff = await diffThreads(repository, a, b);
    let files: FileChange[] | null = null;
    if (diff.files) {
      files = (await diffSnapshots(repository, cli.env, diff.files.a, diff.files.b)) ?? null;
    }
    const columns = cli.stdout.isTTY === true ? (cli.stdout.columns ?? 80) : PIPE_COLUMNS;
    const paths = (files ?? []).flatMap(({ path, oldPath }) => (oldPath === undefined ? [path] : [oldPath, path]));
    const print = await pathPrinter(cli, repository, paths);
    const listed = files === null ? [] : [listFiles(files, out.paint, print)];
    await out.result({ ...diff, files }, () => describe(diff, listed, options.all, out.paint, columns));
  },
});

function describe(
  diff: ThreadDiff,
  listed: readonly string[],
  isAll: boolean,
  paint: Palette,
  columns: number,
): string {
  const { ancestor, steps, firstDifference } = diff;
  const parts = [
    ancestor
      ? `both have ${plural(ancestor.number, 'step')}, up to commit ${paint.id(ancestor.head.slice(0, 12))}`
      : 'they share no commit',
  ];
  if (firstDifference === null) {
    parts.push(steps.length === 0 ? 'neither has gone on' : 'what each did after that is the same');
  }
  const titles = sideBySide(diff.a, diff.b, columns);
  for (const pair of steps) {
    const isShown = !pair.isSame && (isAll || pair.number === firstDifference);
    parts.push(isShown ? `${paint.quiet(titles)}\n${showPair(pair, columns)}` : listPair(pair, paint));
  }
  parts.push(...listed);
  return parts.join('\n\n').replaceAll(/\n\n(?= *\d+\. )/g, '\n');
}

function showPair({ number, a, b }: StepPair, columns: number): string {
  const show = (step: DiffStep | null): string =>
    step === null
      ? `${number}. (none)`
      : [`${number}. ${step.role}`, formatMeta(step.meta), `\n${step.text.trim()}`].filter(Boolean).join('\n');
  return sideBySide(show(a), show(b), columns);
}

function listPair({ number, a, b, isSame }: StepPair, paint: Palette): string {
  const side = (step: DiffStep | null): string =>
    step === null ? '(none)' : oneLine(`${step.role}${step.status === null ? '' : `: ${step.status}`}`);
  const both = isSame ? paint.quiet(`${side(a)}, the same in both`) : `${side(a)} │ ${side(b)}`;
  return `${String(number).padStart(3)}. ${both}`;
}

function listFiles(files: readonly FileChange[], paint: Palette, print: (path: string) => string): string {
  if (files.length === 0) return 'the files are the same';
  const lines = files.map(({ change, path, oldPath, added, deleted }) => {
    const name = oldPath === undefined ? print(path) : `${print(oldPath)} -> ${print(path)}`;
    const counts = added === null ? 'binary' : `+${added} -${deleted ?? 0}`;
    return `  ${change.padEnd(12)}  ${name}  ${paint.quiet(counts)}`;
  });
  return [`${plural(files.length, 'file')} not the same:`, ...lines].join('\n');
}

/** Writes two texts beside each other, line by line; what is longer than its half goes on below. */
function sideBySide(left: string, right: string, columns: number): string {
  const half = Math.max(Math.floor((columns - 3) / 2), 20);
  const [a, b] = [foldLines(left, half), foldLines(right, half)];
  const rows = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
    const text = a[i] ?? '';
    return `${text}${' '.repeat(Math.max(half - widthOf(text), 0))} │ ${b[i] ?? ''}`.trimEnd();
  });
  return rows.join('\n');
}

function foldLines(text: string, width: number): string[] {
  return harmless(text)
    .replaceAll('\t', '    ')
    .trimEnd()
    .split('\n')
    .flatMap((line) => foldLine(line, width));
}

/** Breaks a line at spaces, or in the middle of a word that is too long; indentation and inner spaces are kept. */
function foldLine(line: string, width: number): string[] {
  const folded: string[] = [];
  let rest = line;
  while (widthOf(rest) > width) {
    const fitting = fitTo(rest, width).slice(0, -1);
    const space = rest.lastIndexOf(' ', fitting.length);
    const cut = space > fitting.length / 2 ? space : Math.max(fitting.length, 1);
    folded.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return [...folded, rest];
}
