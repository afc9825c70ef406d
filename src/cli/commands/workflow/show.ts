import { relative } from 'node:path';
import { prepareHashing } from '../../../cas/hash.ts';
import type { Repository } from '../../../git/repository.ts';
import { plural } from '../../../text/wording.ts';
import { validateWorkflow } from '../../../workflow/check/validate-workflow.ts';
import type { BlockDefinition, Rule, WorkflowDefinition } from '../../../workflow/definition.ts';
import { describeBranches, foldBranches, renderGraph, sayBlock } from '../../../workflow/graph/render-graph.ts';
import {
  listWorkflowFiles,
  type LoadedWorkflowFile,
  loadWorkflowFile,
  resolveWithDiagnostics,
  resolveWorkflow,
  rootOf,
} from '../../../workflow/load/resolve-workflow.ts';
import { encodeWorkflow } from '../../../workflow/nodes.ts';
import { listWorkflows } from '../../../workflow/registry/find-workflow.ts';
import { SourceUnreadable } from '../../../workflow/source/read-source.ts';
import { type Diagnostic, InvalidWorkflow } from '../../../workflow/source/source-map.ts';
import { type Command, defineCommand } from '../../command-line/command.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { openForReading } from '../../open/open-repository.ts';
import { formatDiagnostics } from '../../output/findings.ts';
import type { Output } from '../../output/output.ts';
import { formatFacts } from '../../output/table.ts';
import { harmless, oneLine } from '../../output/text.ts';
import type { CliEnvironment } from '../../process/cli-environment.ts';

type Row = { name: string; hash: string | null; description: string; origin: string; problem: string | null };

export const workflowListCommand: Command = defineCommand({
  description: `Lists the files in .uwf/workflows/ here and in the folders above, and the registered workflows. If a name is
both, 'uwf run <name>' uses the file.`,
  json: {
    name: 'its name',
    hash: "the definition's hash; null where it cannot be read",
    description: 'what it is for',
    origin: "the file, or 'registered'",
    problem: 'why it cannot be read, or null',
  },
  examples: [{ command: 'uwf workflow list', comment: 'what there is to run' }],
  async run({ cli, out }) {
    const repository = await openForReading(cli);
    await prepareHashing();
    const rows: Row[] = [];
    for (const { name, file } of await listWorkflowFiles(repository, cli.cwd)) {
      const origin = relative(cli.cwd, file);
      const { definition, problem } = await readDefinition(repository, file);
      const hash = definition ? encodeWorkflow(definition).hash : null;
      rows.push({ name, hash, description: definition?.description ?? '', origin, problem });
    }
    const { workflows, unreadable } = await listWorkflows(repository);
    for (const { name, hash, description } of workflows) {
      rows.push({ name, hash, description, origin: 'registered', problem: null });
    }
    for (const { name, problem } of unreadable) {
      rows.push({ name, hash: null, description: '', origin: 'registered', problem: problem.message });
    }
    await out.table<Row>(rows, [
      { title: 'NAME', cell: ({ name }) => name, paint: out.paint.name },
      { title: 'HASH', cell: ({ hash }) => hash ?? '', paint: out.paint.id },
      { title: 'FROM', cell: ({ origin }) => origin, paint: out.paint.quiet },
      {
        title: 'DESCRIPTION',
        cell: ({ description, problem }) => (problem === null ? description : `not valid: ${problem}`),
        paint: (text, { problem }) => (problem === null ? text : out.paint.error(text)),
      },
    ]);
    if (rows.length > 0) return;
    const isBare = repository.location?.workTree === undefined;
    const way = isBare
      ? "'uwf workflow add <file>' registers one"
      : "'uwf init --with find-regression' brings one that works as it is";
    out.hint(`there is none yet; ${way}`);
  },
});

/** One file that cannot be read does not hide the others. */
async function readDefinition(
  repository: Repository,
  file: string,
): Promise<{ definition?: WorkflowDefinition | undefined; problem: string | null }> {
  try {
    const { definition, diagnostics } = await loadWorkflowFile(file, rootOf(repository, file));
    return { definition, problem: diagnostics.find(({ severity }) => severity === 'error')?.message ?? null };
  } catch (error) {
    if (!(error instanceof SourceUnreadable)) throw error;
    return { problem: error.message };
  }
}

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

const formats = ['text', 'mermaid', 'dot'] as const;

export const workflowGraphCommand: Command = defineCommand({
  arguments: [{ name: 'workflow', summary: 'a name, a file or a hash', candidates: 'workflow' }],
  options: {
    format: {
      short: 'f',
      value: '<format>',
      summary: `one of ${formats.join(', ')}; by default text`,
      candidates: formats,
    },
  },
  examples: [
    { command: 'uwf workflow graph develop', comment: 'in the terminal' },
    { command: 'uwf workflow graph develop -f mermaid', comment: 'for a Markdown file' },
    { command: 'uwf workflow graph develop -f dot | dot -Tsvg', comment: 'with Graphviz' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const { definition } = await resolveWorkflow(repository, args.workflow, { cwd: cli.cwd });
    const format = formats.find((name) => name === options.format) ?? 'text';
    await out.result({}, () => harmless(renderGraph(definition, format)));
  },
});

export const workflowValidateCommand: Command = defineCommand({
  description: `Checks a workflow without running it and reports everything that is wrong at once, with file, line and
column: unknown roles, rules that can never fire, statuses without an edge, expressions and templates that do not compile,
invalid schemas. A warning is for something that works but is rarely intended.`,
  arguments: [{ name: 'workflow', summary: 'a file, a name or a hash', candidates: 'workflow' }],
  options: { strict: { summary: 'let warnings fail too' } },
  json: {
    valid: 'whether it can be run',
    diagnostics: 'severity, code, message, file, line, column, path, hint of everything found',
  },
  examples: [
    { command: 'uwf workflow validate .uwf/workflows/develop.yaml', comment: 'a file' },
    { command: 'uwf workflow validate develop --strict', comment: 'in CI' },
  ],
  exitCodes: { 0: 'it is valid', 1: 'it has mistakes' },
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const { definition, diagnostics, sources } = await check(cli, repository, args.workflow);
    const isValid = definition !== undefined && !(options.strict && diagnostics.length > 0);
    await out.result({ valid: isValid, diagnostics }, () => {
      const found = formatDiagnostics(diagnostics, sources, out.paint);
      const verdict = isValid
        ? out.paint.good(`${definition.name} is valid: ${count(definition)}`)
        : out.paint.error(summarise(diagnostics));
      return [found, verdict].filter((part) => part !== '').join('\n\n');
    });
    return isValid ? EXIT.done : EXIT.failed;
  },
});

async function check(cli: CliEnvironment, repository: Repository, workflow: string): Promise<LoadedWorkflowFile> {
  try {
    const { definition, file } = await resolveWithDiagnostics(repository, workflow, { cwd: cli.cwd });
    if (file !== undefined) return file;
    return { ...(await validateWorkflow(definition)), sources: new Map() };
  } catch (error) {
    if (!(error instanceof InvalidWorkflow)) throw error;
    return { definition: undefined, diagnostics: [...error.diagnostics], sources: error.sources };
  }
}

/** `3 roles, 1 block, 5 rules`. */
function count({ roles, blocks = {}, moderator }: WorkflowDefinition): string {
  const [roleCount, blockCount] = [Object.keys(roles).length, Object.keys(blocks).length];
  return [
    plural(roleCount, 'role'),
    ...(blockCount > 0 ? [plural(blockCount, 'block')] : []),
    plural(moderator.length, 'rule'),
  ].join(', ');
}

function summarise(diagnostics: readonly Diagnostic[]): string {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  const warnings = diagnostics.length - errors;
  const parts = [errors > 0 && plural(errors, 'error'), warnings > 0 && plural(warnings, 'warning')].filter(Boolean);
  return `not valid: ${parts.join(' and ')}`;
}
