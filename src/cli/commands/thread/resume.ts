import { limitOptions, type LimitOption } from '../../../engine/limits/limits.ts';
import type { MoreLimits } from '../../../schema/built-in/schema-parts.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { parseCount, parseDollars } from '../../command-line/parse-value.ts';
import { promptOptions, textFrom } from '../../command-line/read-text.ts';
import { agentOption, threadArgument, sendOptions } from '../../command-line/shared-arguments.ts';
import { followRun, runExitCodes, runFields } from '../../follow/follow-run.ts';
import { ADOPT_LEASE, openEngine } from '../../open/open-engine.ts';
import { redactionHere, sayTaken } from '../../open/open-redactor.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { runInBackground } from '../../process/background.ts';

export const threadResumeCommand: Command = defineCommand({
  description: `Runs a suspended thread on, with or without an answer for the role that waits. A thread that waits for a
child runs the child on, and an interrupted thread goes on from its head. A thread that has ended goes on as a new thread if
its workflow has rules from __resume__ (or $START.resume). A cancelled thread does not: fork it.

Limits of steps, visits, turns, tokens and cost hold for the whole life of a thread; an answer does not raise them. If a
thread is suspended at a limit, say how much more it may use: --steps 10 allows ten more steps. A child thread can wait at
a limit of its caller; what you allow the caller is for all of its children.

A turn that was suspended because its files hold secrets does not run again: without an answer its files are searched again
and stored with its reply. --allow-secrets stores them as they are, and also a kept reply that could not be searched.

With --on the thread is fetched from a remote, the answer is stored and sent there, and the remote's workers go on with it, which
is shown here as it comes.`,
  arguments: [threadArgument],
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
    ...sendOptions,
    background: { short: 'b', summary: 'run it in a process of its own and come back at once' },
  },
  json: runFields,
  examples: [
    { command: "uwf thread resume 01KAM4 -p 'Use the second variant'", comment: 'answer and go on' },
    { command: 'uwf thread resume 01KAM4', comment: 'go on without an answer, after a time-out' },
    { command: 'uwf thread resume 01KAM4 -p yes --on origin', comment: 'answer, and let workers of a remote go on' },
    { command: 'uwf thread resume 01KAM4 --steps 10', comment: 'go on after a limit, with ten more steps' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    const answer = await textFrom(cli, { text: options.prompt, file: options.file });
    const more = moreOf(options);
    const givenAtMs = answer === undefined ? undefined : cli.givenAtMs;
    const { on } = options;
    if (on !== undefined) {
      const { resumeOn } = await import('../../sharing/on-remote.ts');
      return resumeOn({ cli, out }, args.thread, { answer, more, givenAtMs }, { ...options, on });
    }
    const repository = await openForWriting(cli);
    const { agent, 'allow-secrets': allowSecrets } = options;
    const resumption = { answer, more, givenAtMs, agent, allowSecrets, adoptLease: cli.env[ADOPT_LEASE] || undefined };
    const { id: thread, head, isHistory } = await getThread(repository, args.thread);
    if (!options.background) {
      // What has ended goes on as a new thread.
      const followed = isHistory ? undefined : thread;
      return followRun({ cli, out }, repository, (engine) => engine.resume(thread, resumption), followed);
    }
    const engine = await openEngine(cli, repository);
    const check = (): Promise<void> => engine.checkResume(thread, resumption);
    await check();
    const argv = [
      'thread',
      'resume',
      thread,
      ...(answer === undefined ? [] : ['--file', '-']),
      ...limitOptions.flatMap(([name, option]) => (more?.[name] === undefined ? [] : [`--${option}=${more[name]}`])),
      ...(allowSecrets ? ['--allow-secrets'] : []),
      ...(agent === undefined ? [] : [`--agent=${agent}`]),
    ];
    // It lies in a file until the process has read it.
    const redaction = await redactionHere(cli, repository);
    const input = answer && redaction.text(answer);
    sayTaken(cli, redaction);
    return runInBackground({ cli, out }, repository, { thread, head }, argv, input, check);
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
