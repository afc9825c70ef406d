import { type LimitOption, limitOptions } from '../../../engine/limits/limits.ts';
import type { MoreLimits } from '../../../schema/built-in/schema-parts.ts';
import { getThread } from '../../../thread/find-thread.ts';
import {
  agentOption,
  type Command,
  defaultThreadArgument,
  defineCommand,
  parseCount,
  parseDollars,
  publishOptions,
  sendOptions,
  threadArgument,
} from '../../command-line/command.ts';
import { promptFrom, promptOptions, textFrom } from '../../command-line/read-text.ts';
import { UsageError } from '../../errors/exit-code.ts';
import { followRun, followSteps, runExitCodes, runFields, stepOutcomeFields } from '../../follow/follow-run.ts';
import { foldGathered, redactionHere, sayTaken } from '../../open/open-config.ts';
import { ADOPT_LEASE, openEngine } from '../../open/open-engine.ts';
import { openForReading, openForWriting } from '../../open/open-repository.ts';
import { harmless } from '../../output/text.ts';
import { runInBackground } from '../../process/background.ts';
import { startHere, startOptions } from '../../threads/start-thread.ts';

export const runCommand: Command = defineCommand({
  description: `Starts a thread of a workflow and runs it: the moderator picks a role, the role's agent does its turn, the step is
stored, and so on until the workflow ends or something needs you. Steps are shown on stderr as they finish; the summary of
the end is printed on stdout.

With --on the thread runs on other machines, by the workers of a remote ('uwf worker'), with the agents that they have. It gets
a work tree of its own, made from a commit that the remote has. What the workers publish is shown here as it comes; Ctrl-C ends
the following, not the thread.

The workflow is a hash, a path to a file, a name in .uwf/workflows/ here or in a folder above, or a registered name.`,
  arguments: [{ name: 'workflow', summary: 'the workflow to run', candidates: 'workflow' }],
  options: {
    ...startOptions,
    ...sendOptions,
    'allow-secrets': { summary: `with --on: ${publishOptions['allow-secrets'].summary}` },
    background: { short: 'b', summary: 'run it in a process of its own and print its id at once' },
  },
  json: runFields,
  examples: [
    { command: "uwf run develop -p 'Add a --dry-run option'", comment: 'start and watch' },
    { command: 'uwf run develop -F task.md --background', comment: 'start and leave; uwf thread join waits for it' },
    { command: "uwf run develop -p 'Fix #7' --on origin", comment: 'let workers of a remote do it, and watch' },
    { command: 'gh issue view 7 | uwf run solve-issue -p -', comment: 'the prompt from a pipe' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    const { on } = options;
    if (on !== undefined) {
      const { startOn } = await import('../../sharing/on-remote.ts');
      return startOn({ cli, out }, args.workflow, { ...options, on });
    }
    const repository = await openForWriting(cli);
    const request = { workflow: args.workflow, options, requireAgents: true };
    if (!options.background) {
      return followRun({ cli, out }, repository, async (engine) => {
        const { thread } = await startHere(cli, repository, engine, request);
        return engine.run(thread);
      });
    }
    const started = await startHere(cli, repository, await openEngine(cli, repository), request);
    const { thread, head, workflow } = started;
    return runInBackground({ cli, out }, repository, { thread, head, workflow }, ['thread', 'run', thread]);
  },
});

export const threadStartCommand: Command = defineCommand({
  description: `Writes the first commit of a thread and prints the thread's id. The definition is pinned: a later change of
the workflow file does not change this thread. No agent runs yet, and none needs to be configured.`,
  arguments: [{ name: 'workflow', summary: 'the workflow to start', candidates: 'workflow' }],
  options: startOptions,
  json: {
    thread: "the new thread's id",
    head: 'its first commit',
    workflow: "its workflow's name",
    status: 'idle',
    nextRole: 'who is first',
  },
  examples: [
    { command: "uwf thread start develop -p 'Add a --dry-run option'", comment: 'print the id of a new thread' },
    { command: 'uwf thread step $(uwf thread start develop -F task.md)', comment: 'and do its first step' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForWriting(cli);
    const engine = await openEngine(cli, repository);
    const request = { workflow: args.workflow, options, requireAgents: false };
    const started = await startHere(cli, repository, engine, request);
    const { thread, head, workflow, status, nextRole } = started;
    await out.result({ thread, head, workflow, status, nextRole }, () => thread);
    out.hint(`'uwf thread run ${thread}' runs it, 'uwf thread step ${thread}' does one step`);
    await foldGathered(cli, repository);
  },
});

export const threadStepCommand: Command = defineCommand({
  description: `Decides who is next, runs that role's agent, stores the step, and decides again: if the workflow ends there,
the thread is ended at once. If another process works on the thread, the command names it and exits with 5.`,
  arguments: [threadArgument],
  options: {
    count: { short: 'c', value: '<n>', summary: 'do so many steps, or fewer if the thread stops', parse: parseCount },
    role: { value: '<role>', summary: 'let this role go, whatever the moderator says' },
    agent: agentOption,
  },
  json: stepOutcomeFields,
  examples: [
    { command: 'uwf thread step 01KAM4', comment: 'one step' },
    { command: 'uwf thread step 01KAM4 -c 5 --json', comment: 'five steps, a line of JSON for each' },
  ],
  exitCodes: { ...runExitCodes, 0: 'the step is stored, or the thread has ended' },
  async run({ args, options, cli, out }) {
    const repository = await openForWriting(cli);
    const { role, agent, count } = options;
    return followSteps(
      { cli, out },
      repository,
      (engine, taken) => engine.step(args.thread, { role, agent: taken === 0 ? agent : undefined }),
      count,
    );
  },
});

export const threadRunCommand: Command = defineCommand({
  description: `Runs a thread from its head until it ends or is suspended. After a crash nothing has to be repaired: stored
steps are never repeated.

With --on the workers of a remote run it ('uwf worker'): it is sent there if it is not, goes on if it was stopped, and what they
publish is shown here as it comes. Ctrl-C ends the following, not the thread.`,
  arguments: [threadArgument],
  options: {
    agent: agentOption,
    ...sendOptions,
    'allow-secrets': { summary: `with --on: ${publishOptions['allow-secrets'].summary}` },
    background: { short: 'b', summary: 'run it in a process of its own and come back at once' },
  },
  json: runFields,
  examples: [
    { command: 'uwf thread run 01KAM4', comment: 'go on and watch' },
    { command: 'uwf thread run 01KAM4 --on origin', comment: 'let workers of a remote run it, and watch' },
    { command: 'uwf thread run 01KAM4 --json | tail -1', comment: 'how it came out' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    if (options.on !== undefined) {
      const { bringThread, openRemoteWorld, sendThread } = await import('../../sharing/on-remote.ts');
      const { assertNotElsewhere } = await import('../../sharing/on-remote.ts');
      const { goOnThere } = await import('../../sharing/on-remote.ts');
      const world = await openRemoteWorld({ cli, out }, options.on);
      const { followed, news } = await bringThread(world, args.thread);
      await assertNotElsewhere(world, followed);
      await sendThread(world, followed.thread, options);
      return goOnThere(world, followed.thread, followed, options.background, news);
    }
    const repository = await openForWriting(cli);
    const { id: thread, head } = await getThread(repository, args.thread);
    const { agent, background } = options;
    if (!background) {
      const wish = { adoptLease: cli.env[ADOPT_LEASE] || undefined, agent };
      return followRun({ cli, out }, repository, (engine) => engine.run(thread, wish), thread);
    }
    await (await openEngine(cli, repository)).checkRun(thread, { agent });
    return runInBackground({ cli, out }, repository, { thread, head }, [
      'thread',
      'run',
      thread,
      ...(agent === undefined ? [] : [`--agent=${agent}`]),
    ]);
  },
});

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

function moreOf(options: Record<LimitOption, number | undefined>): MoreLimits | undefined {
  const more: MoreLimits = {};
  for (const [name, option] of limitOptions) {
    const amount = options[option];
    if (amount !== undefined) more[name] = amount;
  }
  return Object.keys(more).length === 0 ? undefined : more;
}

export const threadPokeCommand: Command = defineCommand({
  description: `Runs the role of the last step again, with its reply and your remark. The new step replaces the old one,
which stays as a parent of its commit: nothing is lost. If the role suspends instead, the thread does not change, and a fork
of it is suspended.`,
  arguments: [threadArgument],
  options: {
    prompt: { ...promptOptions.prompt, summary: "your remark; '-' reads it from stdin" },
    file: { ...promptOptions.file, summary: "read the remark from a file; '-' is stdin" },
    agent: { ...agentOption, summary: 'let this agent of the configuration do it' },
  },
  json: stepOutcomeFields,
  examples: [
    { command: "uwf thread poke 01KAM4 -p 'Shorter, please'", comment: 'the same role, the same step, once more' },
    { command: "uwf thread poke 01KAM4 --agent local -p 'Try it your way'", comment: 'by another agent' },
  ],
  exitCodes: { ...runExitCodes, 0: 'the step is replaced, or the thread has ended with that' },
  async run({ args, options, cli, out }) {
    const word = await promptFrom(cli, options, {
      question: 'What do you have to say about the last step?',
      missing: 'nothing is said about the last step',
    });
    const repository = await openForWriting(cli);
    const wish = { agent: options.agent, adoptLease: cli.env[ADOPT_LEASE] || undefined };
    return followSteps({ cli, out }, repository, (engine) => engine.poke(args.thread, word, wish));
  },
});

export const threadContextCommand: Command = defineCommand({
  description: `Prints the exact prompt of the thread's next agent, and its size on stderr. Nothing is run or stored.
'context.maxCharacters' in the configuration limits how much of earlier replies a prompt has.`,
  arguments: [defaultThreadArgument],
  options: {
    role: { value: '<role>', summary: 'print the prompt of this role, whichever role is next' },
  },
  json: {
    thread: 'its id',
    role: 'who would be told',
    agent: 'the agent that does the role here, or null',
    text: 'what it would be told',
    characters: 'how long that is',
  },
  examples: [
    { command: 'uwf thread context 01KAM4', comment: 'for the role whose turn it is' },
    { command: 'uwf thread context 01KAM4 --role reviewer', comment: 'for another' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const engine = await openEngine(cli, repository);
    const thread = args.thread ?? cli.env['UWF_THREAD'];
    if (!thread) throw new UsageError("it needs a thread: name one, or set UWF_THREAD as it is for an agent's turn");
    const preview = await engine.context(thread, options.role);
    await out.result(preview, () => harmless(preview.text));
    out.hint(`${preview.characters} characters for role '${preview.role}'`);
  },
});
