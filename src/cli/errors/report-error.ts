import { messageOf, UwfError } from '../../errors.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { hintFrom } from '../output/output.ts';
import { allHarmless, createPalette, harmless, harmlessJson, type Palette } from '../output/text.ts';

/**
 * Says on stderr what went wrong: what happened, to which thing, and what to try.
 *
 * With `isJson` it prints one object, `{"error": {"code", "kind", "message", "hint", …facts}}`. Any error but a `UwfError`
 * is reported as a bug. `UWF_DEBUG` shows stacks.
 */
export async function reportError(cli: CliEnvironment, error: unknown, { isJson }: { isJson: boolean }): Promise<void> {
  const stack = cli.env['UWF_DEBUG'] && error instanceof Error ? error.stack : undefined;
  if (isJson) {
    cli.stderr.write(`${harmlessJson(JSON.stringify({ error: { ...describe(cli, error), stack } }))}\n`);
    return;
  }
  const paint = createPalette(cli.stderr, cli.env);
  const { message, hint } = describe(cli, error);
  const lines = [
    ...(await diagnosticsOf(error, paint)),
    `${paint.error('uwf:')} ${harmless(message)}`,
    ...(stack === undefined ? [] : [harmless(stack)]),
    ...(hint === null ? [] : [`${paint.hint('hint:')} ${harmless(hint)}`]),
  ];
  cli.stderr.write(`${allHarmless(lines.join('\n'), paint)}\n`);
}

type Description = { code: string; kind: string; message: string; hint: string | null };

function describe(cli: CliEnvironment, error: unknown): Description & Record<string, unknown> {
  if (error instanceof UwfError) {
    const { code, kind, message } = error;
    // A hint of several lines ends with what is to be written into a file.
    const glue = error.hint?.includes('\n') ? '\n\n' : '; ';
    const hint = [error.hint, error.wayOn].filter((part) => part !== undefined).join(glue) || undefined;
    const known = new Set(['name', 'code', 'kind', 'hint', 'wayOn']);
    const facts = Object.entries(error).filter(([name, value]) => !known.has(name) && !(value instanceof Map));
    return { code, kind, message, hint: hint === undefined ? null : hintFrom(cli, hint), ...Object.fromEntries(facts) };
  }
  const message = `this is a bug in uwf: ${messageOf(error)}`;
  const hint = 'nothing that was stored is lost; repeat it with UWF_DEBUG=1 and report what that prints';
  return { code: 'bug', kind: 'bug', message, hint };
}

/** Every mistake of a workflow, with its place. */
async function diagnosticsOf(error: unknown, paint: Palette): Promise<string[]> {
  if (!(error instanceof UwfError) || error.code !== 'invalid-workflow') return [];
  const [{ InvalidWorkflow }, { formatDiagnostics }] = await Promise.all([
    import('../../workflow/source/source-map.ts'),
    import('../output/findings.ts'),
  ]);
  return error instanceof InvalidWorkflow ? [formatDiagnostics(error.diagnostics, error.sources, paint)] : [];
}
