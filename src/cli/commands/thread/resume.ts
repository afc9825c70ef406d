import { runInBackground } from '../../background.ts';
import { agentOption, wantedAgent } from '../../agent-option.ts';
import { defineCommand, type Command } from '../../command.ts';
import { ADOPT_LEASE } from '../../engine-here.ts';
import { followRun, runExitCodes, runFields } from '../../follow-run.ts';
import { promptOptions, readText } from '../../input/read-text.ts';
import { openToWrite } from '../../open-repository.ts';
import { getThread } from '../../../thread/find-thread.ts';

export const command: Command = defineCommand({
  summary: 'answer a suspended thread and run it on',
  description: `Lets a suspended thread go on, with an answer for the role that waits or without one, and runs it. A thread that
waits for a child thread goes on with it, and one whose run was cut off where it stands. A thread that has ended is taken up
again as a new one, if its workflow says from __resume__ (or $START.resume) who is next. A cancelled thread is not: fork it.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    prompt: { ...promptOptions.prompt, summary: "the answer; '-' reads it from stdin" },
    file: { ...promptOptions.file, summary: "read the answer from a file; '-' is stdin" },
    agent: agentOption,
    background: { short: 'b', summary: 'run it in a process of its own and come back at once' },
  },
  json: { shape: 'lines', fields: runFields },
  examples: [
    { command: "uwf thread resume 01KAM4 -p 'Use the second variant'", comment: 'answer and go on' },
    { command: 'uwf thread resume 01KAM4', comment: 'go on without an answer, after a limit or a time-out' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    const answer = await readText(cli, { text: options.prompt, file: options.file });
    const repository = await openToWrite(cli);
    if (!options.background) {
      const adoptLease = cli.env[ADOPT_LEASE];
      const resumption = {
        ...(answer !== undefined && { answer }),
        ...(adoptLease && { adoptLease }),
        ...wantedAgent(options.agent),
      };
      return followRun({ cli, out }, repository, (engine) => engine.resume(args.thread, resumption));
    }
    const { id: thread, head } = await getThread(repository, args.thread);
    const argv = [
      'thread',
      'resume',
      thread,
      ...(answer === undefined ? [] : ['--file', '-']),
      ...(options.agent === undefined ? [] : [`--agent=${options.agent}`]),
    ];
    const log = await runInBackground(cli, repository, thread, argv, answer);
    await out.result({ thread, head, status: 'running', log }, () => thread);
    out.hint(`'uwf thread join ${thread}' waits for it; what it says is in ${log}`);
    return undefined;
  },
});
