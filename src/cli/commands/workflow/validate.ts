import { type LoadedWorkflowFile, resolveWithDiagnostics } from '../../../workflow/load/resolve-workflow.ts';
import { type Diagnostic, InvalidWorkflow } from '../../../workflow/source/source-map.ts';
import type { WorkflowDefinition } from '../../../workflow/definition.ts';
import { validateWorkflow } from '../../../workflow/check/validate-workflow.ts';
import type { Repository } from '../../../git/repository.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import type { CliEnvironment } from '../../process/cli-environment.ts';
import { EXIT } from '../../errors/exit-code.ts';
import { openForReading } from '../../open/open-repository.ts';
import { plural } from '../../../text/wording.ts';
import { formatDiagnostics } from '../../output/findings.ts';

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
