import type { FileChange } from '../../../git/process/revisions.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { type DiffStep, diffThreads, type StepPair, type ThreadDiff } from '../../../thread/step-files.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import type { Palette } from '../../output/palette.ts';
import { pathPrinter } from '../../output/path-printer.ts';
import { formatMeta } from '../../output/table.ts';
import { plural } from '../../../text/wording.ts';
import { fitTo, harmless, oneLine, widthOf } from '../../output/width.ts';

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
      const { diffSnapshots } = await import('../../../thread/step-files.ts');
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
