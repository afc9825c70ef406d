import { findKnownAgents, isConfigured } from '../../../agent/acp/known-agents.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { configHere } from '../../open/open-config.ts';
import { openForReading } from '../../open/open-repository.ts';

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
