import { runInBackground } from '../../background.ts';
import { agentOption, wantedAgent } from '../../agent-option.ts';
import { defineCommand, type Command } from '../../command.ts';
import { ADOPT_LEASE, openEngine } from '../../engine-here.ts';
import { followRun, runExitCodes, runFields } from '../../follow-run.ts';
import { parseCount, parseDollars } from '../../input/parse-value.ts';
import { promptOptions, readText } from '../../input/read-text.ts';
import { openToWrite } from '../../open-repository.ts';
import { redactionHere, sayTaken } from '../../redaction-here.ts';
import { limitOptions, type LimitOption } from '../../../engine/limit-options.ts';
import type { MoreLimits } from '../../../schema/built-in/thread-resume.ts';
import { getThread } from '../../../thread/find-thread.ts';

export const command: Command = defineCommand({
  summary: 'answer a suspended thread and run it on',
  description: `Lets a suspended thread go on, with an answer for the role that waits or without one, and runs it. A thread that
waits for a child thread goes on with it, and one whose run was cut off where it stands. A thread that has ended is taken up
again as a new one, if its workflow says from __resume__ (or $START.resume) who is next. A cancelled thread is not: fork it.

Limits of steps, visits, turns, tokens and cost count over the life of a thread, and an answer raises none. A thread that waits at
one goes on when it is resumed with how much more it may use; --steps 10 allows ten steps beyond what was allowed before.

A turn whose files hold secrets is not taken again: without an answer its files are looked at anew, and stored with what was said.
--allow-secrets stores them as they are; so it does with a reply that could not be searched for secrets and is kept here.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    prompt: { ...promptOptions.prompt, summary: "the answer; '-' reads it from stdin" },
    file: { ...promptOptions.file, summary: "read the answer from a file; '-' is stdin" },
    steps: { value: '<n>', summary: 'allow the thread so many more steps', parse: parseCount },
    visits: { value: '<n>', summary: 'allow each role so many more steps of its own', parse: parseCount },
    turns: { value: '<n>', summary: 'allow so many more turns of models', parse: parseCount },
    tokens: { value: '<n>', summary: 'allow so many more tokens, in and out', parse: parseCount },
    cost: { value: '<usd>', summary: 'allow so many more US dollars', parse: parseDollars },
    'allow-secrets': { summary: 'store what the turn came to although there may be secrets in it or in its files' },
    agent: agentOption,
    background: { short: 'b', summary: 'run it in a process of its own and come back at once' },
  },
  json: { shape: 'lines', fields: runFields },
  examples: [
    { command: "uwf thread resume 01KAM4 -p 'Use the second variant'", comment: 'answer and go on' },
    { command: 'uwf thread resume 01KAM4', comment: 'go on without an answer, after a time-out' },
    { command: 'uwf thread resume 01KAM4 --steps 10', comment: 'go on after a limit, with ten more steps' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    const answer = await readText(cli, { text: options.prompt, file: options.file });
    const more = moreOf(options);
    const repository = await openToWrite(cli);
    const adoptLease = cli.env[ADOPT_LEASE];
    const resumption = {
      ...(answer !== undefined && { answer }),
      ...(more && { more }),
      ...(adoptLease && { adoptLease }),
      ...wantedAgent(options.agent),
      ...(options['allow-secrets'] && { allowSecrets: true }),
    };
    const { id: thread, head, isHistory } = await getThread(repository, args.thread);
    if (!options.background) {
      // What has ended goes on as a new thread.
      const followed = isHistory ? undefined : thread;
      return followRun({ cli, out }, repository, (engine) => engine.resume(thread, resumption), followed);
    }
    await (await openEngine(cli, repository)).checkResume(thread, resumption);
    const argv = [
      'thread',
      'resume',
      thread,
      ...(answer === undefined ? [] : ['--file', '-']),
      ...limitOptions.flatMap(([name, option]) => (more?.[name] === undefined ? [] : [`--${option}=${more[name]}`])),
      ...(options['allow-secrets'] ? ['--allow-secrets'] : []),
      ...(options.agent === undefined ? [] : [`--agent=${options.agent}`]),
    ];
    // It lies in a file until the process has read it.
    const redaction = await redactionHere(cli, repository);
    const input = answer && redaction.text(answer);
    sayTaken(cli, redaction);
    const log = await runInBackground(cli, repository, thread, argv, input);
    await out.result({ thread, head, status: 'running', log }, () => thread);
    out.hint(`'uwf thread join ${thread}' waits for it; what it says is in ${log}`);
    return undefined;
  },
});

/** What the options add to limits; `undefined` if nothing. */
function moreOf(options: Record<LimitOption, number | undefined>): MoreLimits | undefined {
  const more: MoreLimits = {};
  for (const [name, option] of limitOptions) {
    const amount = options[option];
    if (amount !== undefined) more[name] = amount;
  }
  return Object.keys(more).length === 0 ? undefined : more;
}
