import type { Context, Emitter, Liquid, Template } from 'liquidjs';
import { UwfError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { ALL_SEEN, NOTHING_SEEN, type StepsSeen } from '../analysis/steps-seen.ts';
import { TEMPLATE_LIMIT } from '../expression-errors.ts';

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

/** Lists every use of a variable that the template does not set itself, in the order of the text. */
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

const RENDER_TIMEOUT_MS = 1000;
/** Characters and list items that filters, ranges and output may make. */
const MEMORY_UNITS = 8_000_000;
/** Liquid's messages of these limits, in words that name them. */
const LIMIT_REASONS: ReadonlyMap<string, string> = new Map([
  ['template render limit exceeded', `it did not end within ${RENDER_TIMEOUT_MS} ms`],
  ['memory alloc limit exceeded', `it makes more than ${MEMORY_UNITS} characters and list items`],
]);
/** The longest template, in UTF-16 units. */
const MAX_TEMPLATE = 262_144;

const FILE_TAGS = ['include', 'render', 'layout', 'block'];

let engine: Promise<Liquid> | undefined;

/** The one Liquid engine of this process, made at the first call: no files, own properties only, bounded, the same result every day. */
export function liquidEngine(): Promise<Liquid> {
  return (engine ??= createEngine());
}

async function createEngine(): Promise<Liquid> {
  const { Drop, Liquid, toValue } = await import('liquidjs');
  const liquid = new Liquid({
    strictFilters: true,
    // A variable that is not there is a mistake to be found when the workflow is validated, not in the middle of a run.
    strictVariables: false,
    ownPropertyOnly: true,
    parseLimit: MAX_TEMPLATE,
    renderLimit: RENDER_TIMEOUT_MS,
    memoryLimit: MEMORY_UNITS,
    timezoneOffset: 0,
    locale: 'en-US',
    templates: {},
  });
  for (const tag of FILE_TAGS) delete liquid.tags[tag];
  delete liquid.filters.sample;
  makeDatesReplayable(liquid);
  const isOwn = (value: unknown, key: unknown): boolean => !(value instanceof Drop) || isMember(value, key, Drop);
  watchRendering(liquid, toValue, isOwn);
  return liquid;
}

const ISO_DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(?: ?(Z|[+-]\d\d:?\d\d))?$/;
/** As git writes a date where nothing else is asked for (`%cd`), and in mails (`%cD`). */
const GIT_DATE =
  /^[A-Z][a-z]{2}(?: [A-Z][a-z]{2} \d\d? \d\d:\d\d:\d\d \d{4}|, \d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d) [+-]\d{4}$/;
/** But for years and days, which are written with four and eight digits. */
const SECONDS = /^(?!\d{4}$|\d{8}$)-?\d+(?:\.\d+)?$/;

/**
 * Date filters take `now` and `today` for the current time, and read a date without a zone in the machine's own: the prompt
 * would differ when the decision is replayed. Left are seconds since the epoch, as numbers or text, ISO 8601 in UTC without
 * a zone, and dates as git writes them.
 */
function makeDatesReplayable(liquid: Liquid): void {
  for (const name of Object.keys(liquid.filters).filter((filter) => filter.startsWith('date'))) {
    const filter = liquid.filters[name];
    if (typeof filter !== 'function') continue;
    liquid.registerFilter(name, function (value: unknown, ...rest: unknown[]) {
      return filter.call(this, typeof value === 'string' && value !== '' ? inUtc(value) : value, ...rest);
    });
  }
}

function inUtc(text: string): string | number {
  if (SECONDS.test(text)) return Number(text);
  if (GIT_DATE.test(text)) return text;
  const [, day, time, zone = 'Z'] = ISO_DATE.exec(text) ?? [];
  if (day === undefined) {
    const exact = 'ISO 8601, dates as git writes them and Unix seconds come out the same when they are replayed';
    throw new Error(`'${text}' is refused as a date: only ${exact}`);
  }
  return time === undefined ? `${day}T00:00${zone}` : `${day}T${time}${zone}`;
}

/**
 * Counts output, of the result and of a `capture`, against the memory limit while it is written. Reads only own members of
 * Liquid's own values (`forloop`, `empty`): Liquid takes those for safe and reads their prototypes too.
 */
function watchRendering(
  { renderer }: Liquid,
  toValue: (value: unknown) => unknown,
  isOwn: (value: unknown, key: unknown) => boolean,
): void {
  const render = renderer.renderTemplates.bind(renderer);
  const watched = new WeakSet<Context>();
  renderer.renderTemplates = (templates, context, emitter = new CountedOutput(context, toValue)) => {
    if (!watched.has(context)) {
      watched.add(context);
      const read = context.readProperty.bind(context);
      context.readProperty = (value, key): unknown => (isOwn(value, toValue(key)) ? read(value, key) : undefined);
    }
    return render(templates, context, emitter);
  };
}

/** Tells whether a value of Liquid's own has a member, below the class that all such values have in common. */
function isMember(value: object, key: unknown, common: { prototype: object }): boolean {
  if (typeof key !== 'string' || key === 'constructor' || key === 'next') return false;
  for (let at: object | null = value; at !== null && at !== common.prototype; at = Reflect.getPrototypeOf(at)) {
    if (Object.hasOwn(at, key)) return true;
  }
  return false;
}

/** Writes as Liquid's own does: lists without anything between their items, nothing for null. */
class CountedOutput implements Emitter {
  buffer = '';
  readonly #context: Context;
  readonly #toValue: (value: unknown) => unknown;

  constructor(context: Context, toValue: (value: unknown) => unknown) {
    this.#context = context;
    this.#toValue = toValue;
  }

  write(written: unknown): void {
    const value = this.#toValue(written);
    if (value === undefined || value === null) return;
    if (Array.isArray(value)) return value.forEach((item) => this.write(item));
    // oxlint-disable-next-line typescript/no-base-to-string -- an object is written so by Liquid, and a Drop has a text of its own
    const text = String(value);
    this.#context.memoryLimit.use(text.length);
    this.buffer += text;
  }
}
