import { warnOfMode } from '../../../agent/acp/known-agents.ts';
import { builtInNames, describeAgentPackage } from '../../../agent/load/load-agent-package.ts';
import { configRoot } from '../../../engine/config/config.ts';
import { isJsonObject, type JsonObject } from '../../../json.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { configHere } from '../../open/open-config.ts';
import { openForReading } from '../../open/open-repository.ts';
import type { Output } from '../../output/output.ts';
import { formatFacts } from '../../output/table.ts';
import { harmless, oneLine } from '../../output/width.ts';
import { hintAtName, UsageError } from '../../errors/usage-error.ts';

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
