import { resolveWorkflow } from '../../../workflow/load/resolve-workflow.ts';
import type { BlockDefinition, Rule, WorkflowDefinition } from '../../../workflow/definition.ts';
import { describeBranches, foldBranches, sayBlock } from '../../../workflow/graph/render-graph.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import type { Output } from '../../output/output.ts';
import { formatFacts } from '../../output/table.ts';
import { oneLine } from '../../output/width.ts';

export const workflowShowCommand: Command = defineCommand({
  description: `Shows a workflow as uwf runs it: every notation is reduced to an ordered list of rules, and the first rule
that matches decides.`,
  arguments: [{ name: 'workflow', summary: 'a name, a file or a hash', candidates: 'workflow' }],
  json: {
    name: 'its name',
    hash: "the definition's hash",
    description: 'what it is for',
    roles: 'role -> description, systemPrompt, extractPrompt, schema …',
    blocks: 'block -> branches or each, join, isolation …; null where there are none',
    moderator: 'the rules, in order: from, to, when, prompt …',
    limits: 'its limits, or null',
    origin: 'the file, ref or node it comes from',
  },
  examples: [
    { command: 'uwf workflow show develop', comment: 'roles and rules' },
    { command: 'uwf workflow show develop --json=moderator', comment: 'the reduced rules as data' },
  ],
  async run({ args, cli, out }) {
    const repository = await openForReading(cli);
    const { definition, hash, origin } = await resolveWorkflow(repository, args.workflow, { cwd: cli.cwd });
    const from = origin.kind === 'file' ? origin.file : origin.kind === 'registry' ? origin.ref : 'node';
    const { name, description, roles, blocks, moderator, limits, isolation } = definition;
    const bounds = Object.entries(limits ?? {}).map(([limit, value]) => `${limit} ${value}`);
    const all = { name, hash, description, roles, blocks: blocks ?? null, moderator, limits: limits ?? null };
    await out.result({ ...all, origin: from }, () =>
      [
        formatFacts([
          ['workflow', `${out.paint.name(name)}  ${out.paint.id(hash)}`],
          ['from', from],
          ['about', oneLine(description)],
          ['limits', bounds.join(', ')],
          ['isolation', isolation ?? ''],
        ]),
        formatRoles(definition, out),
        ...(blocks ? [formatBlocks(blocks, out)] : []),
        formatRules(moderator, out),
      ].join('\n\n'),
    );
  },
});

function formatRoles({ roles }: WorkflowDefinition, { paint }: Output): string {
  const facts = Object.entries(roles).map(([role, { description, needs = [] }]) => {
    const needed = needs.length === 0 ? '' : `  ${paint.quiet('needs')} ${needs.join(', ')}`;
    return [`  ${paint.name(role)}`, `${oneLine(description) || '-'}${needed}`] as const;
  });
  return `${paint.title('roles')}\n${formatFacts(facts)}`;
}

/** The text names as many branches of a block; `--json` has all. */
const MAX_BRANCHES_SHOWN = 20;

function formatBlocks(blocks: Record<string, BlockDefinition>, { paint }: Output): string {
  const lines = Object.entries(blocks).flatMap(([name, block]) => [
    `  ${paint.name(oneLine(name))}  ${oneLine(sayBlock(block))}`,
    ...foldBranches(
      describeBranches(block).map(({ name: branch, what }) => `${oneLine(branch)}  ${paint.quiet(oneLine(what))}`),
      MAX_BRANCHES_SHOWN,
    ).map((line) => `    ${line}`),
  ]);
  return `${paint.title('blocks')}\n${lines.join('\n')}`;
}

function formatRules(rules: readonly Rule[], { paint }: Output): string {
  const lines = rules.map(({ from, to, when, on, returnCode }, index) => {
    const limit = on === undefined ? '' : `  ${paint.quiet('at a limit')}`;
    const condition = when === null ? '' : `  ${paint.quiet('when')} ${oneLine(when)}`;
    const code = returnCode === undefined ? '' : `  ${paint.quiet(`return code ${returnCode}`)}`;
    return `  ${String(index + 1).padStart(2)}  ${paint.name(from)} -> ${paint.name(to)}${limit}${condition}${code}`;
  });
  return `${paint.title('rules')}\n${lines.join('\n')}`;
}
