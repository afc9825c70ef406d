import type { FileChange } from '../../../git/native/diff-trees.ts';
import { diffThreads, type DiffStep, type StepPair, type ThreadDiff } from '../../../thread/diff-threads.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { defineCommand, type Command } from '../../command.ts';
import { openToRead } from '../../open-repository.ts';
import { formatMeta } from '../../output/meta.ts';
import type { Palette } from '../../output/palette.ts';
import { pathPrinter } from '../../path-printer.ts';
import { sideBySide } from '../../output/side-by-side.ts';
import { oneLine } from '../../output/width.ts';

const PIPE_COLUMNS = 120;

export const command: Command = defineCommand({
  summary: 'compare two threads from where they part',
  description: `Finds the newest commit that two threads share and shows the first step in which they differ, what each reported and
said side by side; then, in a line each, the steps after that. Where steps recorded the files they left, it lists how the files
of the one differ from those of the other.`,
  arguments: [
    { name: 'a', summary: "a thread's id, or its first characters", candidates: 'thread' },
    { name: 'b', summary: 'the other thread', candidates: 'thread' },
  ],
  options: { all: { short: 'a', summary: 'show every step that differs, not only the first' } },
  json: {
    shape: 'object',
    fields: {
      a: 'the first thread',
      b: 'the second',
      ancestor: 'the newest commit that both have: head, kind, node, number of steps; null if none',
      firstDifference: 'the number of the first step that differs; null if none does',
      steps: 'the steps after the ancestor: number, isSame, and for a and b step, head, role, status, meta, text',
      files:
        'how the files of b differ from those of a: change, path (quoted as git does where it is not UTF-8), added, deleted; null if no step since recorded any',
    },
  },
  examples: [
    { command: 'uwf thread diff 01KAM4 01KAM5', comment: 'a thread and its fork' },
    { command: 'uwf thread diff 01KAM4 01KAM5 --json=firstDifference', comment: 'where they part' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const diff = await diffThreads(
      repository,
      await getThread(repository, args.a),
      await getThread(repository, args.b),
    );
    let files: FileChange[] | null = null;
    if (diff.files) {
      const { diffSnapshots } = await import('../../../thread/restore-step.ts');
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

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
