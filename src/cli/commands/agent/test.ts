import { testAgent } from '../../../agent/test-agent.ts';
import type { AgentCheck } from '../../../agent/test-agent.ts';
import { usesIn } from '../../../engine/admission.ts';
import { withTrialThread } from '../../../engine/trial-thread.ts';
import { configRoot } from '../../../engine/config.ts';
import { nearestName } from '../../../nearest-name.ts';
import { packageRoot } from '../../../package-root.ts';
import { delimiter, join } from 'node:path';
import { defineCommand, type Command } from '../../command.ts';
import { configHere } from '../../config-here.ts';
import { lazyGate, readingContext } from '../../engine-here.ts';
import { EXIT } from '../../exit-code.ts';
import { parseDuration } from '../../input/parse-value.ts';
import { openToRead } from '../../open-repository.ts';
import { formatTable } from '../../output/table.ts';
import { UsageError } from '../../usage-error.ts';

const DEFAULT_TIMEOUT_MS = 120_000;

export const command: Command = defineCommand({
  summary: 'try an agent out with one turn',
  description: `Has an agent take a turn in which it does nothing but reply, and says what works. An agent that keeps sessions takes a
second one, which needs to remember the first. While it runs there is a thread 'agent-test', whose store it has; nothing
of that is left. One that was not made to be asked is looked for and not run: a program
(builtin:command) without 'answers: true', and an agent of a package that does not say that it answers.`,
  arguments: [{ name: 'agent', summary: 'its name in the configuration', candidates: 'agent' }],
  options: {
    timeout: { value: '<time>', summary: 'how long a turn may take: 30s, 2min (2min)', parse: parseDuration },
  },
  json: {
    shape: 'list',
    fields: {
      check: 'what was looked at',
      outcome: 'ok, failed or not applicable',
      detail: 'what was found, or why not',
      hint: 'what to try where it failed, or null',
    },
  },
  examples: [{ command: 'uwf agent test claude', comment: 'whether it is there, logged in, and replies as it has to' }],
  exitCodes: { [EXIT.agent]: 'something does not work, or is not trusted' },
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const config = await configHere(cli, repository);
    const { agents } = config;
    const binding = Object.hasOwn(agents, args.agent) ? agents[args.agent] : undefined;
    if (binding === undefined) throw unknownAgent(args.agent, Object.keys(agents));
    const cwd = repository.location?.workTree ?? repository.location?.gitDir ?? cli.cwd;
    const path = [join(packageRoot(), 'bin'), cli.env['PATH']].filter(Boolean).join(delimiter);
    const env = Object.entries({ ...cli.env, PATH: path }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    const context = readingContext(repository, config);
    await lazyGate(cli, repository, config)(usesIn(context, [binding], cwd));
    const checks = await withTrialThread(context, (thread) =>
      testAgent(binding, {
        cwd,
        thread,
        resolveFrom: configRoot(repository) ?? cwd,
        env: Object.fromEntries(env),
        timeoutMs: options.timeout ?? DEFAULT_TIMEOUT_MS,
        signal: cli.signal,
      }),
    );
    await out.result(
      checks.map((check) => ({ ...check, hint: check.hint ?? null })),
      () =>
        formatTable<AgentCheck>(
          checks,
          [
            { title: 'CHECK', cell: ({ check }) => check, paint: out.paint.name },
            { title: 'OUTCOME', cell: ({ outcome }) => outcome },
            { title: 'DETAIL', cell: ({ detail }) => detail },
          ],
          out.paint,
          cli.stdout,
        ),
    );
    const failed = checks.filter(({ outcome }) => outcome === 'failed');
    for (const { hint } of failed) if (hint !== undefined) out.hint(hint);
    return failed.length > 0 ? EXIT.agent : EXIT.done;
  },
});

function unknownAgent(name: string, configured: readonly string[]): UsageError {
  const near = nearestName(name, configured);
  const known = configured.length === 0 ? "'uwf init' writes a configuration" : `there is ${configured.join(', ')}`;
  return new UsageError(
    `no agent '${name}' is configured here`,
    near === undefined ? known : `did you mean '${near}'?`,
  );
}
