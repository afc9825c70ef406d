import { findKnownAgents, isConfigured } from '../../../agent/acp/known-agents.ts';
import type { Config } from '../../../engine/config.ts';
import { defineCommand, type Command } from '../../command.ts';
import { configHere } from '../../config-here.ts';
import { openToRead } from '../../open-repository.ts';
import { formatTable } from '../../output/table.ts';

type Row = { name: string; package: string; isDefault: boolean; roles: string[] };

export const command: Command = defineCommand({
  summary: 'list the agents that are configured here',
  description: `Lists the agents of .uwf/config.yaml, of your own configuration and of this machine's file in the git folder, and the roles
that each does. Known coding agents that are installed and not configured are named, with the line to add.`,
  arguments: [],
  options: {},
  json: {
    shape: 'list',
    fields: {
      name: 'what it is called here',
      package: 'what makes it: builtin:<name>, or an npm package',
      isDefault: 'whether it does the roles that nobody else is named for',
      roles: 'the roles it is named for: workflow.role or role',
    },
  },
  examples: [{ command: 'uwf agent list', comment: 'who would do what' }],
  async run({ cli, out }) {
    const repository = await openToRead(cli);
    const config = await configHere(cli, repository);
    const rows = Object.values(config.agents).map((agent) => ({
      name: agent.name,
      package: agent.package,
      isDefault: agent.name === config.defaultAgent,
      roles: rolesOf(config, agent.name),
    }));
    await out.result(rows, () =>
      formatTable<Row>(
        rows,
        [
          { title: 'AGENT', cell: ({ name }) => name, paint: out.paint.name },
          { title: 'PACKAGE', cell: (row) => row.package },
          {
            title: 'ROLES',
            cell: ({ roles, isDefault }) => [...roles, ...(isDefault ? ['every other role'] : [])].join(', '),
          },
        ],
        out.paint,
        cli.stdout,
      ),
    );
    const agents = Object.values(config.agents);
    for (const found of findKnownAgents(cli.env)) {
      if (isConfigured(found, agents)) continue;
      out.hint(`${found.title} is installed; to use it, add to 'agents' in .uwf/config.yaml: ${found.line}`);
    }
    if (rows.length === 0) out.hint("none is configured; 'uwf init' writes a .uwf/config.yaml to begin with");
  },
});

function rolesOf(config: Config, agent: string): string[] {
  return Object.keys(config.roles).filter((role) => config.roles[role] === agent);
}
