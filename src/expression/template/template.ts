import type { Template } from 'liquidjs';

import { UwfError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { ALL_SEEN, NOTHING_SEEN, type StepsSeen } from '../analysis/steps-seen.ts';
import { TEMPLATE_LIMIT } from '../expression-errors.ts';
import { LIMIT_REASONS, liquidEngine } from './liquid-engine.ts';

/** A text that is no Liquid template, or uses what templates of uwf must not. */
export class TemplateSyntaxError extends UwfError {
  readonly template: string;
  readonly reason: string;
  /** 1-based, within the template. */
  readonly line: number;
  /** 1-based, in UTF-16 units. */
  readonly column: number;

  constructor(template: string, reason: string, line: number, column: number) {
    super(`the template is not Liquid: ${reason} (line ${line}, column ${column})`, {
      code: 'template-syntax',
      kind: 'data',
      hint: 'see https://liquidjs.com for tags and filters',
    });
    this.template = template;
    this.reason = reason;
    this.line = line;
    this.column = column;
  }
}

/** A template that could not be rendered, or (`template-limit`) not within its limits of time and size. */
function templateFailed(template: string, reason: string, code: string = 'template-failed'): UwfError {
  return new UwfError(`the template failed: ${reason}`, {
    code,
    kind: 'data',
    facts: { template, reason },
  });
}

/** A variable that a template takes from outside, where it is named. */
export type TemplateVariable = {
  /** `['steps', 0, 'meta', 'ok']`; a segment that is only known when it is rendered is left out, with what follows it. */
  path: readonly [string, ...(string | number)[]];
  /** 1-based, within the template. */
  line: number;
  /** 1-based, in UTF-16 units. */
  column: number;
};

/** The longest text that a rendering may give, in UTF-16 units. */
const MAX_RESULT = 4_194_304;

/** Tells whether a text has nothing for Liquid to do: rendered, it is itself. */
function isPlainText(source: string): boolean {
  return !source.includes('{{') && !source.includes('{%');
}

/**
 * Parses a template: Liquid's own nodes; `undefined` for a text without any tag or output, which needs no engine.
 *
 * @throws {TemplateSyntaxError} when it is not Liquid, names a filter that does not exist, or a tag that reads files
 */
async function parseTemplate(source: string): Promise<Template[] | undefined> {
  if (isPlainText(source)) return undefined;
  const liquid = await liquidEngine();
  try {
    return liquid.parse(source);
  } catch (error) {
    const { reason, line, column } = liquidError(error);
    throw new TemplateSyntaxError(source, reason, line, column);
  }
}

/**
 * Renders a template over variables, which are not changed. A variable that does not exist gives nothing.
 *
 * Bounded in time (1 s), in what it makes on the way (8 million characters and items) and in its result (4 million).
 * @throws {TemplateSyntaxError} when the source is not Liquid
 * @throws {UwfError} `template-failed` when a filter fails, `template-limit` when a limit is reached
 */
export async function renderTemplate(source: string, variables: Readonly<Record<string, JsonValue>>): Promise<string> {
  const nodes = await parseTemplate(source);
  if (nodes === undefined) return source;
  const liquid = await liquidEngine();
  let result: unknown;
  try {
    result = liquid.renderSync(nodes, variables);
  } catch (error) {
    const { reason } = liquidError(error);
    const limit = LIMIT_REASONS.get(reason);
    throw templateFailed(source, limit ?? reason, limit && TEMPLATE_LIMIT);
  }
  const text = String(result);
  if (text.length > MAX_RESULT) {
    throw templateFailed(source, `its result is longer than ${MAX_RESULT} characters`, TEMPLATE_LIMIT);
  }
  return text;
}

/**
 * What a template can see of the steps: the fields of the newest one, and by the name `steps` all. Liquid reads a variable by
 * its plain name, or by a computed name: in brackets, or in the expression of a filter such as `where_exp`.
 */
export function seenByTemplate(source: string): StepsSeen {
  if (isPlainText(source)) return NOTHING_SEEN;
  return /steps|\[|_exp/.test(source) ? ALL_SEEN : { ...NOTHING_SEEN, newest: 1 };
}

/**
 * Lists every use of a variable that the template does not set itself, in the order of the text.
 *
 * @throws {TemplateSyntaxError} when the source is not Liquid
 */
export async function templateVariables(source: string): Promise<TemplateVariable[]> {
  const nodes = await parseTemplate(source);
  if (nodes === undefined) return [];
  const liquid = await liquidEngine();
  const { globals } = liquid.analyzeSync(nodes, { partials: false });
  const found = Object.values(globals)
    .flat()
    .flatMap((variable): TemplateVariable[] => {
      const [root, ...rest] = variable.segments;
      if (typeof root !== 'string') return [];
      const dynamic = rest.findIndex((segment) => typeof segment === 'object');
      const known = (dynamic === -1 ? rest : rest.slice(0, dynamic)).filter((segment) => typeof segment !== 'object');
      return [{ path: [root, ...known], line: variable.location.row, column: variable.location.col }];
    });
  return found.toSorted((left, right) => left.line - right.line || left.column - right.column);
}

function liquidError(error: unknown): { reason: string; line: number; column: number } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Liquid's errors carry the token that they are about; anything else has none.
  const { message, token } = error as { message?: string; token?: { getPosition(): [number, number] } };
  const [line, column] = token?.getPosition() ?? [1, 1];
  return { reason: (message ?? String(error)).replace(/, line:\d+, col:\d+$/, ''), line, column };
}
