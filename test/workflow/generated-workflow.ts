import type { JsonObject, JsonValue } from '../../src/json.ts';

/** Makes a workflow without mistakes, in any notation, with any of the keys that there are. */
export function generatedWorkflow(random: () => number): JsonObject {
  return new Maker(random).workflow();
}

const steps: JsonObject = { maxSteps: 9, maxVisits: 3, maxTurns: 50, maxTokens: 100_000, maxCostUsd: 0.5, maxDepth: 0 };
const times: JsonObject = { timeoutMs: 60_000, idleTimeoutMs: 1000 };

class Maker {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  workflow(): JsonObject {
    const roles = ['writer', 'Reviewer', 'check.er-2', 'x-odd'].slice(0, 1 + this.#below(4));
    const name = this.#one('sample', 'a', 'a.b_c-9');
    const blocks = this.#below(3) === 0 ? ['reviews', 'Build.all'].slice(0, 1 + this.#below(2)) : [];
    const needed = {
      name,
      roles: Object.fromEntries(roles.map((role) => [role, this.#role()])),
      ...(blocks.length > 0 && { blocks: Object.fromEntries(blocks.map((block) => [block, this.#block(roles)])) }),
    };
    const optional = { version: 1, description: 'A sample.', limits: this.#limits(), 'x-shared': { any: ['thing'] } };
    const places = [...roles, ...blocks];
    const notation = this.#below(3);
    const isolation = blocks.length > 0 ? { isolation: this.#one('worktree', 'strict') } : {};
    const all = { ...this.#some(needed, optional), ...isolation };
    if (notation === 0) return { ...all, moderator: this.#moderator(places) };
    if (notation === 1 && blocks.length === 0) return { ...all, graph: this.#byStatus(roles) };
    return { ...all, ...this.#byCondition(places) };
  }

  #block(roles: readonly string[]): JsonObject {
    const isolation = this.#one('none', 'shared', 'worktree', 'strict');
    const isApart = isolation === 'worktree' || isolation === 'strict';
    const [role = ''] = roles;
    const task = (): JsonObject =>
      this.#some(this.#one<JsonObject>({ workflow: 'review' }, { role }), { prompt: 'Read {{ key }}.', 'x-a': 1 });
    const item = { over: '$steps.meta.list[]', as: this.#one('item', 'a_B1'), key: '$string($count($))' };
    const branches = { a: task(), 'B-2.c': task(), '7': task() };
    return this.#some(
      {
        ...this.#one<JsonObject>(
          { branches },
          { each: { ...this.#some(item, { atOnce: this.#one(1, 1900) }), ...task() } },
        ),
        join: this.#one<JsonValue>('all', 'any', { atLeast: this.#one(1, 3) }, '$count($branches) = $total'),
        isolation,
      },
      { onFailure: this.#one('wait', 'cancel'), 'x-note': 'odd' },
      isApart ? { merge: { order: this.#one('key', 'end') } } : {},
    );
  }

  #role(): JsonObject {
    const schema = this.#schema();
    const check = { expression: '$meta.`$status` != "no"', message: 'say yes' };
    return this.#some(this.#one({ schema }, { frontmatter: schema }, { schema, frontmatter: null }), {
      description: 'writes',
      systemPrompt: 'You write.',
      goal: 'Good texts.',
      capabilities: this.#one<JsonValue>([], ['reading', 'writing']),
      procedure: '1. Write.',
      output: 'A text.',
      extractPrompt: 'Report the text.',
      check: this.#one<JsonValue>(check, [], [check, { ...check, 'x-why': null }]),
      limits: this.#limits(),
      retries: this.#one(0, 2, 100),
      snapshot: this.#one<JsonValue>('off', 'on', 'changed', true, false),
      cwd: this.#one('.', 'src', 'a/b..c/d', '...'),
      needs: this.#one<JsonValue>([], ['gpu'], ['gpu', 'docker', '4.cores_x-9']),
      'x-note': 1,
    });
  }

  #schema(): JsonObject {
    const properties = { $status: { enum: ['done', 'again'] }, note: this.#one<JsonValue>(true, this.#keywords()) };
    const more = { additionalProperties: true, description: 'a reply', 'x-mine': 0, unheardOf: [] };
    return { type: 'object', properties, required: ['$status'], ...this.#one<JsonObject>({}, more) };
  }

  #keywords(): JsonObject {
    return this.#one<JsonObject>(
      { type: 'string', minLength: 1, maxLength: 9, pattern: '^a', format: 'email', default: null, examples: [1] },
      { type: ['integer', 'null'], minimum: 0, exclusiveMaximum: 9, multipleOf: 0.5, deprecated: true },
      {
        type: 'array',
        items: { $ref: '#/properties/$status' },
        minItems: 1,
        uniqueItems: true,
        contains: { const: 1 },
      },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      { anyOf: [{ not: { type: 'null' } }, false], if: true, then: { title: 'x' }, $comment: 'odd' },
      { type: 'object', patternProperties: { '^a': {} }, dependentRequired: { a: ['b'] }, $defs: { a: { enum: [1] } } },
    );
  }

  #moderator(roles: readonly string[]): JsonObject[] {
    const rules = this.#chain(roles).map(({ from, to }): JsonObject =>
      this.#some({ from, to }, this.#target(to), { when: null }),
    );
    const [role = ''] = roles;
    const when = "$steps[-1].meta.`$status` = 'again'";
    return [
      ...rules.slice(0, 1),
      { from: role, to: role, when, 'x-why': 'again' },
      ...rules.slice(1),
      { from: role, to: role, on: 'limit' },
    ];
  }

  #byStatus(roles: readonly string[]): JsonObject {
    const nodes = this.#chain(roles).map(({ from, to }): [string, JsonValue] => {
      const edge = (): JsonObject => this.#edge(to);
      if (from === '__start__')
        return ['$START', this.#one<JsonValue>({ new: edge() }, { new: edge(), resume: edge() }, [edge()])];
      const many = [{ ...edge(), when: '$visits("writer") > 3' }, { ...edge(), on: 'limit' }, edge()];
      return [from, { done: this.#one<JsonValue>(edge(), many, [edge()]), again: edge() }];
    });
    return Object.fromEntries(nodes);
  }

  #byCondition(roles: readonly string[]): JsonObject {
    const nodes = this.#chain(roles).map(({ from, to }): [string, JsonValue] => [
      from === '__start__' ? '$START' : from,
      [{ ...this.#edge(to), condition: 'often' }, this.#some(this.#edge(to), { condition: null })],
    ]);
    const expression = '$count($steps) > 5';
    const often = this.#one<JsonValue>(expression, this.#some({ expression }, { description: 'too often', 'x-a': 1 }));
    return { graph: Object.fromEntries(nodes), conditions: { often } };
  }

  #chain(roles: readonly string[]): { from: string; to: string }[] {
    return [...roles, '__end__'].map((to, index) => ({ from: roles[index - 1] ?? '__start__', to }));
  }

  #edge(to: string): JsonObject {
    return this.#some({ role: to === '__end__' ? '$END' : to }, this.#target(to), { 'x-why': {} });
  }

  #target(to: string): JsonObject {
    const code = to === '__end__' && { returnCode: this.#one(0, 3, 255) };
    return { prompt: 'Go on: {{ start.prompt }}', location: 'src', ...code };
  }

  #limits(): JsonObject {
    return this.#some({}, steps, times, { 'x-own': 1 });
  }

  /** What is needed, and any of what is not; sometimes as null, which counts as absent. */
  #some(needed: JsonObject, ...optional: JsonObject[]): JsonObject {
    const chosen = optional
      .flatMap((keys) => Object.entries(keys))
      .filter(() => this.#below(2) === 0)
      .map(([key, value]): [string, JsonValue] => [key, this.#below(12) === 0 ? null : value]);
    return { ...needed, ...Object.fromEntries(chosen) };
  }

  #one<T>(...choices: readonly T[]): T {
    const choice = choices[this.#below(choices.length)];
    if (choice === undefined) throw new RangeError('nothing to choose from');
    return choice;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}
