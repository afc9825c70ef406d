import { testAgent } from '../../../agent/load/test-agent.ts';
import { usesIn, withFilesOf } from '../../../engine/agents/admission.ts';
import { withTrialThread } from '../../../engine/agents/trial-thread.ts';
import { findUnkept, reportedIn } from '../../../engine/limits/limits.ts';
import { configRoot } from '../../../engine/config/config.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { configHere } from '../../open/open-config.ts';
import { lazyGate } from '../../open/open-engine.ts';
import { createEngineContext } from '../../../engine/engine-context.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { parseDuration } from '../../command-line/parse-value.ts';
import { openForReading } from '../../open/open-repository.ts';
import { rootWatched } from '../../process/signals.ts';
import { hintAtName, UsageError } from '../../errors/usage-error.ts';

const DEFAULT_TIMEOUT_MS = 120_000;

export const agentTestCommand: Command = defineCommand({
  description: `Has an agent take a turn in which it does nothing but reply, and says what works. An agent that keeps
sessions takes a second one, which needs to remember the first. It works in an empty folder and in a thread 'agent-test', which
are removed afterwards. It is offered no tool but 'report_result', and is not permitted anything. The check 'usage' is what
it reports of its tokens and their cost; limits of the configuration that do not hold for it are named there.
Some agents are only looked for, and not run: a program (builtin:command) without 'answers:
true', and an agent whose package does not declare that it answers.`,
  arguments: [{ name: 'agent', summary: 'its name in the configuration', candidates: 'agent' }],
  options: {
    timeout: { value: '<time>', summary: 'how long a turn may take: 30s, 2min (2min)', parse: parseDuration },
  },
  json: {
    check: 'what was looked at',
    outcome: 'ok, failed or not applicable',
    detail: 'what was found, or why not',
    hint: 'what to try where it failed, or a limit does not hold, or null',
  },
  examples: [{ command: 'uwf agent test claude', comment: 'whether it is there, logged in, and replies as it has to' }],
  exitCodes: { [EXIT.agent]: 'something does not work, or is not trusted' },
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const config = await configHere(cli, repository);
    const { agents } = config;
    const binding = Object.hasOwn(agents, args.agent) ? agents[args.agent] : undefined;
    if (binding === undefined) {
      const names = Object.keys(agents);
      const hint = hintAtName(args.agent, names, names.length === 0 ? "'uwf init' writes a configuration" : undefined);
      throw new UsageError(`no agent '${args.agent}' is configured here`, hint);
    }
    const cwd = repository.location?.workTree ?? repository.location?.gitDir ?? cli.cwd;
    const { signal } = cli;
    await rootWatched();
    const context = createEngineContext({ repository, config, env: cli.env });
    const uses = usesIn(context, [binding], cwd);
    await lazyGate(cli, repository, config)(uses);
    // It works in another folder, where the files of its command line are not.
    const [given = binding.config] = uses.map(withFilesOf);
    const checks = await withTrialThread(context, (thread) =>
      testAgent(
        { ...binding, config: given },
        {
          thread,
          resolveFrom: configRoot(repository) ?? cwd,
          timeoutMs: options.timeout ?? DEFAULT_TIMEOUT_MS,
          unkept: (usage) => findUnkept(binding.name, reportedIn(usage), [config.limits]),
          signal,
        },
      ),
    );
    const rows = checks.map((check) => ({ ...check, hint: check.hint ?? null }));
    await out.table<(typeof rows)[number]>(rows, [
      { title: 'CHECK', cell: ({ check }) => check, paint: out.paint.name },
      { title: 'OUTCOME', cell: ({ outcome }) => outcome },
      { title: 'DETAIL', cell: ({ detail }) => detail },
    ]);
    for (const { hint } of checks) if (hint !== undefined) out.hint(hint);
    return checks.some(({ outcome }) => outcome === 'failed') ? EXIT.agent : EXIT.done;
  },
});
