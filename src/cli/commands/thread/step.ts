import { agentOption, wantedAgent } from '../../agent-option.ts';
import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { EXIT, exitCodeOfRun, type ExitCode } from '../../exit-code.ts';
import { runExitCodes, showOver } from '../../follow-run.ts';
import { parseCount } from '../../input/parse-value.ts';
import { openToWrite } from '../../open-repository.ts';
import { printStep, stepOutcomeFields } from '../../output/step-outcome.ts';
import { createRunView } from '../../output/run-view.ts';

export const command: Command = defineCommand({
  summary: 'do the next step of a thread',
  description: `Decides who is next, runs that role's agent, stores the step, and decides again: if the workflow ends there, the thread
is ended at once. Of two such commands at the same moment one works and the other says who does (exit code 5).`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    count: { short: 'c', value: '<n>', summary: 'do so many steps, or fewer if the thread stops', parse: parseCount },
    role: { value: '<role>', summary: 'let this role go, whatever the moderator says' },
    agent: agentOption,
  },
  json: {
    shape: 'lines',
    fields: stepOutcomeFields,
  },
  examples: [
    { command: 'uwf thread step 01KAM4', comment: 'one step' },
    { command: 'uwf thread step 01KAM4 -c 5 --json', comment: 'five steps, a line of JSON for each' },
  ],
  exitCodes: { ...runExitCodes, 0: 'the step is stored, or the thread has ended' },
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    // Under --json each step is one line; the events of `run` would be in between.
    const view = out.isJson ? undefined : createRunView(cli, out);
    const engine = await openEngine(cli, repository, view);
    let wanted = wantedAgent(options.agent);
    let exitCode: ExitCode = EXIT.done;
    try {
      for (let count = options.count ?? 1; count > 0; count -= 1) {
        const outcome = await engine.step(args.thread, {
          ...(options.role !== undefined && { role: options.role }),
          ...wanted,
        });
        wanted = {};
        await printStep(out, outcome);
        if (outcome.over !== undefined) {
          await view?.close();
          if (!out.isJson) await showOver({ cli, out }, repository, outcome.over);
          exitCode = exitCodeOfRun(outcome.over);
          break;
        }
      }
    } finally {
      await view?.close();
    }
    return exitCode;
  },
});
