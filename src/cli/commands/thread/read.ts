import { findLease } from '../../../engine/find-lease.ts';
import { readJournal, unfinishedTurn } from '../../../engine/read-journal.ts';
import type { Repository } from '../../../git/repository.ts';
import { getThread, type ThreadPointer } from '../../../thread/find-thread.ts';
import { readTextAt, readThreadCommit } from '../../../thread/thread-commit.ts';
import type { CommitOf, StepEntry } from '../../../thread/thread-state.ts';
import { defineCommand, type Command } from '../../command.ts';
import { readPiece } from '../../find-step.ts';
import { followDebug, followStory } from '../../follow-turn.ts';
import { parseCount } from '../../input/parse-value.ts';
import { openToRead } from '../../open-repository.ts';
import { formatMeta } from '../../output/meta.ts';
import type { Output } from '../../output/output.ts';
import { formatTime } from '../../output/time.ts';
import { harmless } from '../../output/width.ts';

export const command: Command = defineCommand({
  summary: 'read what was said in a thread',
  description: `Prints the prompt and every reply, oldest first, as one Markdown text. Long threads are read in pieces: --limit takes
the last steps, --before those in front of a step.

With --follow it goes on with what is said from now on, texts and tools as they come, from whichever terminal the thread is
run, and ends when nobody works on it any more. What was said in a turn that was cut off comes last. --debug prints what
this machine's journal knows besides: decisions, leases, tries, times.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    limit: { short: 'n', value: '<n>', summary: 'only the last so many steps', parse: parseCount },
    before: { value: '<step>', summary: 'only steps before this one: its hash or its number' },
    follow: { short: 'f', summary: 'go on with what is said, until nobody works on the thread' },
    debug: { summary: "print the engine's own lines instead" },
  },
  json: {
    shape: 'list',
    fields: {
      role: 'who spoke; null for the prompt',
      text: 'what was said',
      step: "the step's hash; null for the prompt",
      number: "the step's number; 0 for the prompt",
      meta: "the reply's front matter",
      completedAt: 'when',
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
  },
  examples: [
    { command: 'uwf thread read 01KAM4', comment: 'everything' },
    { command: 'uwf thread read 01KAM4 -n 3 --before 10', comment: 'steps 7, 8 and 9' },
    { command: 'uwf thread read 01KAM4 -n 1 --follow', comment: 'the last step, and then what goes on' },
    { command: 'uwf thread read 01KAM4 --debug', comment: 'why it went as it did' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const pointer = await getThread(repository, args.thread);
    const { id, head } = pointer;
    if (options.debug) return followDebug({ cli, out }, repository, id, options.follow);
    if (options.follow && out.isJson) return followStory({ cli, out }, repository, id, head);
    const { steps, start } = await readPiece(repository, pointer, options);
    const said = [...(start ? [await promptOf(repository, start)] : []), ...steps.map(saidIn)];
    const text = (): string => said.map((entry) => format(entry, out)).join('\n\n');
    if (options.follow) {
      // No pager: it would wait for the end of what goes on.
      cli.stdout.write(said.length === 0 ? '' : `${text()}\n\n`);
      return followStory({ cli, out }, repository, id, head);
    }
    await out.result(said, text);
    const first = steps[0]?.commit.node.number;
    if (!start && first !== undefined) out.hint(`what came before: --before ${first}`);
    if (await wasCutOff(repository, pointer)) out.hint(`the last turn was cut off; --follow shows what was said in it`);
    return undefined;
  },
});

/** Tells whether the turn after the last step began, and nobody is at work on it any more. */
async function wasCutOff(repository: Repository, { id, head }: ThreadPointer): Promise<boolean> {
  const { kind } = await readThreadCommit(repository, head);
  if (kind === 'end' || kind === 'suspend' || findLease(repository, id)) return false;
  return unfinishedTurn(readJournal(repository, id)).length > 0;
}

type Said = {
  role: string | null;
  text: string;
  step: string | null;
  number: number;
  meta: object | null;
  completedAt: string;
};

async function promptOf(repository: Repository, start: CommitOf<'start'>): Promise<Said> {
  const completedAt = new Date(start.node.startedAtMs).toISOString();
  return {
    role: null,
    text: await readTextAt(repository, start, 'prompt.md'),
    step: null,
    number: 0,
    meta: null,
    completedAt,
  };
}

function saidIn({ commit: { node, hash }, text }: StepEntry): Said {
  const completedAt = new Date(node.completedAtMs).toISOString();
  return { role: node.role, text, step: hash, number: node.number, meta: node.meta, completedAt };
}

function format(said: Said, { paint }: Output): string {
  const title = said.role === null ? 'The task' : `${said.number}. ${said.role}`;
  const facts = paint.quiet(`${formatTime(Date.parse(said.completedAt))}${said.step === null ? '' : `  ${said.step}`}`);
  const meta = said.meta === null ? '' : formatMeta(said.meta);
  return [`${paint.title(`# ${title}`)}\n${facts}`, meta, harmless(said.text).trim()]
    .filter((part) => part !== '')
    .join('\n\n');
}
