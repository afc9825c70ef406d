import { getThread } from '../../../thread/find-thread.ts';
import { readThread, type ThreadState } from '../../../thread/thread-state.ts';
import { defineCommand, type Command } from '../../command.ts';
import { findStepIn } from '../../find-step.ts';
import { parseCount } from '../../input/parse-value.ts';
import { openToRead } from '../../open-repository.ts';
import { formatMeta } from '../../output/meta.ts';
import type { Output } from '../../output/output.ts';
import { formatTime } from '../../output/time.ts';
import { harmless } from '../../output/width.ts';

export const command: Command = defineCommand({
  summary: 'read what was said in a thread',
  description: `Prints the prompt and every reply, oldest first, as one Markdown text. Long threads are read in pieces: --limit takes
the last steps, --before those in front of a step.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    limit: { short: 'n', value: '<n>', summary: 'only the last so many steps', parse: parseCount },
    before: { value: '<step>', summary: 'only steps before this one: its hash or its number' },
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
    },
  },
  examples: [
    { command: 'uwf thread read 01KAM4', comment: 'everything' },
    { command: 'uwf thread read 01KAM4 -n 3 --before 10', comment: 'steps 7, 8 and 9' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const { id, head } = await getThread(repository, args.thread);
    const state = await readThread(repository, id, head);
    const end = options.before === undefined ? undefined : findStepIn(state, options.before).commit.node.number - 1;
    const all = state.steps.slice(0, end);
    const steps = options.limit === undefined ? all : all.slice(-options.limit);
    const isWhole = steps.length === all.length;
    const said = [...(isWhole ? [promptOf(state)] : []), ...steps.map(saidIn)];
    await out.result(said, () => said.map((entry) => format(entry, out)).join('\n\n'));
    const first = steps[0]?.commit.node.number;
    if (!isWhole && first !== undefined) out.hint(`what came before: --before ${first}`);
  },
});

type Said = {
  role: string | null;
  text: string;
  step: string | null;
  number: number;
  meta: object | null;
  completedAt: string;
};

function promptOf(state: ThreadState): Said {
  const completedAt = new Date(state.start.node.startedAtMs).toISOString();
  return { role: null, text: state.prompt, step: null, number: 0, meta: null, completedAt };
}

function saidIn({ commit: { node, hash }, text }: ThreadState['steps'][number]): Said {
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
