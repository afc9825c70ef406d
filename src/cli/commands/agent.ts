import { findKnownAgents, isConfigured, warnOfMode } from '../../agent/acp/known-agents.ts';
import { builtInNames, describeAgentPackage } from '../../agent/load/load-agent-package.ts';
import { testAgent } from '../../agent/load/test-agent.ts';
import { usesIn, withFilesOf } from '../../engine/agents/admission.ts';
import { withTrialThread } from '../../engine/agents/trial-thread.ts';
import { configRoot } from '../../engine/config/config.ts';
import { createEngineContext } from '../../engine/engine-context.ts';
import { findUnkept, reportedIn } from '../../engine/limits/limits.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { type Command, defineCommand, parseDuration } from '../command-line/command.ts';
import { EXIT, hintAtName, UsageError } from '../errors/exit-code.ts';
import { configHere } from '../open/open-config.ts';
import { openForReading } from '../open/open-repository.ts';
import type { Output } from '../output/output.ts';
import { formatFacts } from '../output/table.ts';
import { harmless, oneLine } from '../output/text.ts';
import { rootWatched } from '../process/cli-environment.ts';
import { trustGate } from '../trust/gate.ts';

type Row = { name: string; package: string; isDefault: boolean; roles: string[] };

export const agentListCommand: Command = defineCommand({
  description: `Lists the agents of .uwf/config.yaml, of your own configuration and of this machine's file in the git
folder, and the roles that each does. For each known coding agent that is installed and not configured it prints the line to
add. --known lists all coding agents that uwf knows, with the versions that were tested; docs/agents.md has the results.`,
  options: {
    known: { summary: 'list the coding agents that uwf knows, configured or not' },
  },
  json: {
    name: 'its name in the configuration',
    package: 'its package: builtin:<name>, or an npm package',
    isDefault: 'whether it does the roles that no other agent is named for',
    roles: 'the roles it is named for: workflow.role or role',
  },
  examples: [
    { command: 'uwf agent list', comment: 'who would do what' },
    { command: 'uwf agent list --json', comment: 'the same for programs' },
  ],
  async run({ cli, out }) {
    const repository = await openForReading(cli);
    const config = await configHere(cli, repository);
    const rows = Object.values(config.agents).map((agent) => ({
      name: agent.name,
      package: agent.package,
      isDefault: agent.name === config.defaultAgent,
      roles: Object.keys(config.roles).filter((role) => config.roles[role] === agent.name),
    }));
    await out.table<Row>(rows, [
      { title: 'AGENT', cell: ({ name }) => name, paint: out.paint.name },
      { title: 'PACKAGE', cell: (row) => row.package },
      {
        title: 'ROLES',
        cell: ({ roles, isDefault }) => [...roles, ...(isDefault ? ['every other role'] : [])].join(', '),
      },
    ]);
    const agents = Object.values(config.agents);
    for (const found of findKnownAgents(cli.env)) {
      if (isConfigured(found, agents)) continue;
      out.hint(
        `${found.title} is installed; to use it, add to 'agents' in ${config.bareFile ?? '.uwf/config.yaml'}: ${found.line}`,
      );
    }
    if (rows.length > 0) return;
    out.hint(
      config.bareFile === undefined
        ? "none is configured; 'uwf init' writes a .uwf/config.yaml to begin with"
        : `none is configured; a bare repository's agents stand in ${config.bareFile}: agents: { me: { package: "builtin:human" } }`,
    );
  },
});

export const agentShowCommand: Command = defineCommand({
  description: `Shows a configured agent, or a package that makes agents: what it can do, and what its 'config' may say. Nothing of
a package is run: an npm package says it in its package.json, under 'uwf'.`,
  arguments: [{ name: 'agent', summary: 'its name in the configuration, or a package', candidates: 'agent' }],
  json: {
    name: 'its name here; null for a package',
    package: 'its package',
    version: "the package's version",
    capabilities: 'what it can do; null where its package.json does not say it',
    config: 'how it is configured here, or null',
    configSchema: 'the JSON Schema of its config; null likewise',
  },
  examples: [
    { command: 'uwf agent show tests', comment: 'one that is configured here' },
    { command: 'uwf agent show builtin:command', comment: 'one that uwf brings along' },
  ],
  async run({ args, cli, out }) {
    const repository = await openForReading(cli);
    const { agents } = await configHere(cli, repository);
    const binding = Object.hasOwn(agents, args.agent) ? agents[args.agent] : undefined;
    const isPackage = /^builtin:|[/]/.test(args.agent);
    if (binding === undefined && !isPackage) {
      const hint = hintAtName(args.agent, [...Object.keys(agents), ...builtInNames()]);
      throw new UsageError(`no agent '${args.agent}' is configured here`, hint);
    }
    const reference = binding?.package ?? args.agent;
    const resolveFrom = configRoot(repository) ?? repository.location?.gitDir ?? cli.cwd;
    const described = await describeAgentPackage(reference, { resolveFrom, version: binding?.version });
    const { version, capabilities = null, configSchema = null } = described;
    const name = binding?.name ?? null;
    const config = binding?.config ?? null;
    await out.result({ name, package: reference, version, capabilities, config, configSchema }, () =>
      [
        formatFacts([
          ['agent', name && out.paint.name(oneLine(name))],
          ['package', `${reference} ${out.paint.quiet(version)}`],
          ['can', capabilities && oneLine(capabilities.join(', '))],
          ['declared', binding?.declaredAt && oneLine(binding.declaredAt)],
          ['config', config && harmless(JSON.stringify(config))],
        ]),
        configSchema === null
          ? "what its config may say is known when it runs: its package.json does not say it under 'uwf'"
          : describeConfig(configSchema, out),
      ].join('\n\n'),
    );
    const ungoverned = binding && warnOfMode(binding);
    if (ungoverned) out.hint(`${ungoverned.message}; ${ungoverned.hint}`);
  },
});

function describeConfig(schema: JsonObject, { paint }: Output): string {
  const { properties, required } = schema;
  const names = new Set(Array.isArray(required) ? required : []);
  const facts = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, property]) => {
    const about = isJsonObject(property) && typeof property['description'] === 'string' ? property['description'] : '-';
    return [`  ${paint.name(name)}${names.has(name) ? ' (needed)' : ''}`, oneLine(about)] as const;
  });
  return facts.length === 0 ? 'its config says nothing' : `${paint.title('its config may say')}\n${formatFacts(facts)}`;
}

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
    await trustGate(cli, repository, config)(uses);
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
