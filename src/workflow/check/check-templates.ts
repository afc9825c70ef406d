import { didYouMean, listNames } from '../../text/nearest-name.ts';
import { TemplateSyntaxError, templateVariables, type TemplateVariable } from '../../expression/template/template.ts';
import { RESUME, START } from '../definition.ts';
import type { Report } from '../diagnostics/report.ts';
import { branchesOf, type SourceRule, type Reduction } from '../notation/reduce-workflow.ts';
import { type Path, SourceText } from '../source/source-map.ts';
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
  const titles = new Map(reduction.places.map(({ name, title }) => [name, title]));
  const titleOf = (place: string): string => titles.get(place) ?? `role '${place}'`;
  for (const template of templatesOf(reduction)) {
    const { source, path, name } = template;
    const text = new SourceText('', source);
    try {
      for (const variable of await variablesOf(source)) {
        checkVariable({ ...template, report, shapes, isReported, text, titleOf }, variable);
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

type SourceTemplate = {
  source: string;
  path: Path;
  /** How messages name it. */
  name: string;
  /** The rules after which it is rendered; a variable has to exist after at least one of them. */
  rules: readonly SourceRule[];
  /** Its variables beside those that every template has. */
  own: readonly string[];
};

function templatesOf({ rules, blocks }: Reduction): SourceTemplate[] {
  const ofRules = rules.flatMap((rule) =>
    (['prompt', 'location'] as const).flatMap((part) => {
      const source = rule.rule[part];
      if (source === undefined) return [];
      return [
        { source, path: [...rule.whole.path, part], name: `the ${part} of ${rule.name}`, rules: [rule], own: [] },
      ];
    }),
  );
  const ofBlocks = blocks.flatMap((block) => {
    const before = rules.filter(({ rule }) => rule.to === block.name);
    const own = ['key', ...(block.block.each ? [block.block.each.as] : [])];
    return branchesOf(block).flatMap(({ branch: { prompt: source }, title, path }) =>
      source === undefined
        ? []
        : [{ source, path: [...path, 'prompt'], name: `the prompt of ${title}`, rules: before, own }],
    );
  });
  return [...ofRules, ...ofBlocks];
}

/** A template, and what it is checked with. */
type Checked = SourceTemplate & {
  report: Report;
  shapes: ReadonlyMap<string, SchemaShape>;
  /** Tells whether any role reports a field of this name. */
  isReported: (name: string) => boolean;
  titleOf: (place: string) => string;
  text: SourceText;
};

function checkVariable(checked: Checked, { path: [root, ...rest], line, column }: TemplateVariable): void {
  const { report, path, name, text, rules, own } = checked;
  const at = { offset: offsetIn(text, line, column), length: root.length };
  if (root === 'start' && typeof rest[0] === 'string' && !startFields.includes(rest[0])) {
    report.error('unknown-variable', path, `${name} names start.${rest[0]}, which does not exist`, {
      hint: didYouMean(rest[0], startFields),
      at: { ...at, length: root.length + 1 + rest[0].length },
    });
    return;
  }
  if (always.includes(root) || own.includes(root)) return;
  const faults = rules.map((rule) => faultAfter(rule, checked, root));
  const fault = faults.find((found) => found?.severity === 'error') ?? faults[0];
  if (fault === undefined || faults.includes(undefined)) return;
  report[fault.severity]('unknown-variable', path, `${name} names '${root}', ${fault.reason}`, {
    hint: fault.hint,
    at,
  });
}

type Fault = { severity: 'error' | 'warning'; reason: string; hint: string | undefined };

/** Returns why a variable does not exist after a rule was taken; `undefined` if it may exist. */
function faultAfter(rule: SourceRule, { shapes, isReported, titleOf, own }: Checked, root: string): Fault | undefined {
  const { from } = rule.rule;
  if (from === START || from === RESUME) {
    if (from === RESUME && (root === body || isReported(root))) return undefined;
    const why = from === START ? 'nothing was reported yet' : 'no role reports it';
    return { severity: 'warning', reason: `but ${why}: it renders as nothing`, hint: 'the task is {{ start.prompt }}' };
  }
  const shape = shapes.get(from);
  if (root === body || shape === undefined) return undefined;
  const statuses = shape.statuses && handledStatuses(rule, shape.statuses);
  const { names, isOpen } = shape.fields(statuses);
  if (isOpen || names.has(root)) return undefined;
  const of = statuses === undefined ? titleOf(from) : `${titleOf(from)} with ${listNames(statuses)}`;
  const hint = shape.fields().names.has(root)
    ? `'${root}' comes with another status`
    : didYouMean(root, [...names, ...own, body, ...always]);
  return { severity: 'error', reason: `which a reply of ${of} does not have`, hint };
}

/** The offset of a line and column, both from 1. */
function offsetIn(text: SourceText, line: number, column: number): number {
  return text.lineStart(line) + column - 1;
}

/** Finds the triple braces of Mustache and Handlebars around an offset. */
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
