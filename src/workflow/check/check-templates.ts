import { TemplateSyntaxError, templateVariables, type TemplateVariable } from '../../expression/template/template.ts';
import { RESUME, START } from '../definition.ts';
import { didYouMean, listNames } from '../diagnostics/did-you-mean.ts';
import type { SourceRule } from '../notation/read-rules.ts';
import type { Reduction } from '../notation/reduce-workflow.ts';
import type { Report } from '../diagnostics/report.ts';
import type { Path } from '../source/source-map.ts';
import { SourceText } from '../source/source-text.ts';
import { handledStatuses } from './live-rules.ts';
import type { SchemaShape } from './schema-shape.ts';

/** What every template sees beside the fields of the last reply. */
const always = ['steps', 'start', 'threadId'];
const body = '_body';
/** The fields of `start`, as `StartView` has them. */
const startFields = ['prompt', 'workflow', 'depth', 'startedAtMs'];

/**
 * Checks that every prompt and location is Liquid, and names only what the reply before it has.
 *
 * An unknown name in a first prompt is only a warning: it renders as nothing, and workflows for other engines rely on that.
 */
export async function checkTemplates(
  report: Report,
  reduction: Reduction,
  shapes: ReadonlyMap<string, SchemaShape>,
): Promise<void> {
  // Edges that an anchor repeats have the same few templates: each text is parsed once.
  const variables = new Map<string, Promise<TemplateVariable[]>>();
  const variablesOf = (source: string): Promise<TemplateVariable[]> => {
    const found = variables.get(source) ?? templateVariables(source);
    variables.set(source, found);
    return found;
  };
  let reported: ReadonlySet<string> | undefined;
  const isReported = (name: string): boolean => {
    reported ??= new Set([...shapes.values()].flatMap((shape) => [...shape.fields().names]));
    return reported.has(name);
  };
  for (const rule of reduction.rules) {
    for (const part of ['prompt', 'location'] as const) {
      const source = rule.rule[part];
      if (source === undefined) continue;
      const path = [...rule.whole.path, part];
      const name = `the ${part} of ${rule.name}`;
      const text = new SourceText('', source);
      try {
        for (const variable of await variablesOf(source)) {
          checkVariable({ report, shapes, isReported, rule, path, name, text }, variable);
        }
      } catch (error) {
        if (!(error instanceof TemplateSyntaxError)) throw error;
        const offset = offsetIn(text, error.line, error.column);
        const triple = findTripleBraces(source, offset);
        report.error('template-syntax', path, `${name} is not Liquid: ${error.reason}`, {
          at: triple ?? placeOfTag(source, offset),
          hint: triple && "Liquid has two braces: write {{ name }}; a brace itself is {{ '{' }}",
        });
      }
    }
  }
}

/** A template, and what it is checked with. */
type Checked = {
  report: Report;
  shapes: ReadonlyMap<string, SchemaShape>;
  /** Tells whether any role reports a field of this name. */
  isReported: (name: string) => boolean;
  rule: SourceRule;
  path: Path;
  /** How messages name it. */
  name: string;
  text: SourceText;
};

function checkVariable(
  { report, shapes, isReported, rule, path, name, text }: Checked,
  { path: [root, ...rest], line, column }: TemplateVariable,
): void {
  const at = { offset: offsetIn(text, line, column), length: root.length };
  if (root === 'start' && typeof rest[0] === 'string' && !startFields.includes(rest[0])) {
    report.error('unknown-variable', path, `${name} names start.${rest[0]}, which does not exist`, {
      hint: didYouMean(rest[0], startFields),
      at: { ...at, length: root.length + 1 + rest[0].length },
    });
    return;
  }
  if (always.includes(root)) return;
  const { from } = rule.rule;
  if (from === START || from === RESUME) {
    const isKnown = from === RESUME && (root === body || isReported(root));
    if (isKnown) return;
    const why = from === START ? 'nothing was reported yet' : 'no role reports it';
    const message = `${name} names '${root}', but ${why}: it renders as nothing`;
    report.warning('unknown-variable', path, message, { hint: 'the task is {{ start.prompt }}', at });
    return;
  }
  const shape = shapes.get(from);
  if (root === body || shape === undefined) return;
  const statuses = shape.statuses && handledStatuses(rule, shape.statuses);
  const { names, isOpen } = shape.fields(statuses);
  if (isOpen || names.has(root)) return;
  const of = statuses === undefined ? `role '${from}'` : `role '${from}' with ${listNames(statuses)}`;
  report.error('unknown-variable', path, `${name} names '${root}', which a reply of ${of} does not have`, {
    hint: shape.fields().names.has(root)
      ? `'${root}' comes with another status`
      : didYouMean(root, [...names, body, ...always]),
    at,
  });
}

/** The offset of a line and column, both from 1. */
function offsetIn(text: SourceText, line: number, column: number): number {
  return text.lineStart(line) + column - 1;
}

/** Braces as Mustache and Handlebars have them, around an offset. */
function findTripleBraces(source: string, offset: number): { offset: number; length: number } | undefined {
  for (const { 0: text, index } of source.matchAll(/\{\{\{[^{}]*\}*/gu)) {
    if (index <= offset && offset <= index + text.length) return { offset: index, length: text.length };
  }
  return undefined;
}

/** The whole of a tag or an output, so that the eye finds it. */
function placeOfTag(source: string, offset: number): { offset: number; length: number } {
  const [tag = ''] = /^\{(?:\{[^}\n]*\}\}|%[^%\n]*%\})/.exec(source.slice(offset)) ?? [];
  return { offset, length: Math.max(1, tag.length) };
}
