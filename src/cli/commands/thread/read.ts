import { threadArgument } from '../../command-line/shared-arguments.ts';
import { readableMeta } from '../../../thread/step-view.ts';
import { formatMeta } from '../../output/table.ts';
import { mayBeAtWork } from '../../../engine/leases/find-lease.ts';
import { readJournal, unfinishedTurn } from '../../../engine/journal/read-journal.ts';
import type { Repository } from '../../../git/repository.ts';
import { getThread } from '../../../thread/find-thread.ts';
import type { ThreadPointer } from '../../../thread/thread-id.ts';
import { readSaidUpTo, type Said } from '../../../thread/read-said.ts';
import { readThreadCommit } from '../../../thread/thread-commit.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { beforeOption, commitBefore } from '../../find/find-turn.ts';
import { followDebug, followStory } from '../../follow/follow-turn.ts';
import { parseCount } from '../../command-line/parse-value.ts';
import { openForReading } from '../../open/open-repository.ts';
import type { Output } from '../../output/output.ts';
import { formatMore, resumptionFields } from '../../output/suspension-markdown.ts';
import { suspensionFacts, suspensionFields, suspensionMarkdown } from '../../output/suspension-markdown.ts';
import { formatTime } from '../../../text/wording.ts';
import { allHarmless, harmless, oneLine } from '../../output/width.ts';

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
