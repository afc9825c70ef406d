import { isAbsolute } from 'node:path';
import type { JsonObject } from '../../json.ts';
import { isolations, limitBounds, limitNames, unknownUsages } from '../../schema/built-in/schema-parts.ts';
import { keywordsOfForm } from '../../schema/json-schema/walk-schema.ts';
import { type Limits, MAX_BRANCHES } from '../definition.ts';

// Pieces of the schema of workflow files.

/** Wider than a workflow's: role names go into paths percent-encoded, and United Workforce lets them be camel case. */
export const roleName: RegExp = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A label in the `needs` of a role. */
export const label: RegExp = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const MAX_NEEDS = 32;

/** Tells whether labels are valid, in order, and each there once. */
export function areNeeds(labels: readonly string[]): boolean {
  const isNext = (text: string, at: number): boolean => at === 0 || (labels[at - 1] ?? '') < text;
  return labels.length <= MAX_NEEDS && labels.every((text, at) => label.test(text) && isNext(text, at));
}

/** An integer within bounds. */
export type Bounds = { minimum: number; maximum: number };

export const text = (description: string): JsonObject => ({ description, type: ['string', 'null'] });
export const needed = (description: string): JsonObject => ({ description, type: 'string' });

/** A map with these keys, and `x-…`, which are free for anything. */
export function fields(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { properties, patternProperties: { '^x-': true }, additionalProperties: false, required: [...required] };
}

/** One of these keys is there and no other, if the value is a map at all. */
function oneKeyOf(...keys: readonly string[]): JsonObject {
  const choices = keys.map((key) => ({
    type: 'object',
    required: [key],
    properties: { [key]: { not: { type: 'null' } } },
  }));
  return { oneOf: [...choices, { not: { type: 'object' } }] };
}

/** A value of these types, or an `!include`: to an editor that is a text, the file's name. */
function orFile(...types: readonly string[]): JsonObject {
  const patternErrorMessage = 'a text stands here only as the file of an !include: reply.yaml';
  return { type: [...types, 'string'], pattern: String.raw`\.(?:ya?ml|json)$`, patternErrorMessage };
}

const isolationField = (whose: string): JsonObject => ({
  description: `whether ${whose} in a work tree of the thread's own: 'worktree', 'strict' (and nothing else may change meanwhile), 'none', or 'shared' (several may work in one work tree)`,
  enum: [...isolations, null],
});

/** What `type` may say. */
export const schemaTypes: readonly string[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

const schema: JsonObject = { $ref: '#/definitions/jsonSchema' };
const keywordText: JsonObject = { type: 'string' };
const number: JsonObject = { type: 'number' };
const count: JsonObject = { type: 'integer', minimum: 0 };
const flag: JsonObject = { type: 'boolean' };
const list: JsonObject = { type: 'array' };
const texts: JsonObject = { type: 'array', items: keywordText, uniqueItems: true };
const typeName: JsonObject = { enum: [...schemaTypes] };

const properties: JsonObject = {
  ...all(keywordsOfForm('schema'), schema),
  ...all(keywordsOfForm('map'), { type: 'object', additionalProperties: schema }),
  ...all(keywordsOfForm('list'), { type: 'array', minItems: 1, items: schema }),
  ...all(['$schema', '$id', '$ref', '$anchor', '$dynamicRef', '$dynamicAnchor', '$comment'], keywordText),
  ...all(['pattern', 'title', 'description', 'format', 'contentEncoding', 'contentMediaType'], keywordText),
  ...all(['maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'], number),
  multipleOf: { type: 'number', exclusiveMinimum: 0 },
  ...all(['maxLength', 'minLength', 'maxItems', 'minItems', 'maxContains', 'minContains'], count),
  ...all(['maxProperties', 'minProperties'], count),
  ...all(['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'], flag),
  ...all(['enum', 'examples'], list),
  required: texts,
  dependentRequired: { type: 'object', additionalProperties: texts },
  type: { anyOf: [typeName, { type: 'array', items: typeName, minItems: 1, uniqueItems: true }] },
  // Of draft 7: a value is a list of names, or a schema.
  dependencies: true,
};

/**
 * The types of the keywords of JSON Schema 2020-12, in the words of draft 7, for the schemas in a workflow file.
 *
 * Source: the meta-schemas of the vocabularies of draft 2020-12, flattened. Keywords that are not named here may be anything.
 */
const schemaKeywordTypes: JsonObject = { properties };

/** Every keyword of JSON Schema 2020-12, those of earlier drafts that are still read, and uwf's `cas_type`. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  ...Object.keys(properties),
  '$vocabulary',
  'const',
  'default',
  'cas_type',
]);

function all(keywords: Iterable<string>, schema: JsonObject): JsonObject {
  return Object.fromEntries([...keywords].map((keyword) => [keyword, schema]));
}

// The part of the schema of workflow files that is about blocks.

export const atLeastBounds: Bounds = { minimum: 1, maximum: MAX_BRANCHES };
export const atOnceBounds: Bounds = { minimum: 1, maximum: MAX_BRANCHES };

/** The properties of a branch: what it runs, and its prompt. */
export const branchProperties: JsonObject = {
  workflow: text('the workflow that the branch runs: a name, a file or a hash'),
  role: text('the role of this workflow that the branch runs, in a workflow of that role alone'),
  prompt: {
    ...text("a Liquid template: what the branch is told, as the prompt of a rule; 'key' is its key"),
    pattern: '\\S',
  },
};

export const eachProperties: JsonObject = {
  over: needed("JSONata whose value is a list: $last('planner').phases"),
  as: { ...needed("the name of an item in 'key' and 'prompt'"), pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$' },
  key: needed("JSONata over the item, whose value names the branch: 'phase.id'"),
  ...branchProperties,
  atOnce: { description: 'how many branches run at once (64)', type: ['integer', 'null'], ...atOnceBounds },
};

const mergeProperties: JsonObject = {
  order: { description: "whose files come first: 'key' by their keys, 'end' by who ended first", enum: ['key', 'end'] },
};

export const blockProperties: JsonObject = {
  branches: {
    description: 'the branches by their keys',
    ...orFile('object', 'null'),
    minProperties: 1,
    propertyNames: { pattern: roleName.source },
    additionalProperties: { ...orFile('object'), ...fields(branchProperties), ...oneKeyOf('workflow', 'role') },
  },
  each: {
    description: 'a branch for each item of a list',
    ...orFile('object', 'null'),
    ...fields(eachProperties, ['over', 'as', 'key']),
    ...oneKeyOf('workflow', 'role'),
  },
  join: {
    description: "when the branches are joined: 'all', 'any', { atLeast: n }, or JSONata over $branches",
    type: ['string', 'object'],
    pattern: '\\S',
    properties: { atLeast: { description: 'how many branches have to complete', type: 'integer', ...atLeastBounds } },
    required: ['atLeast'],
    additionalProperties: false,
  },
  onFailure: {
    description:
      "what happens to the other branches when the join cannot hold any more: 'wait' (the default) or 'cancel'",
    enum: ['wait', 'cancel', null],
  },
  isolation: isolationField('the branches work'),
  merge: {
    description: "merges the files of the branches, in the order of their keys ('key') or of their ends ('end')",
    ...orFile('object', 'null'),
    ...fields(mergeProperties, ['order']),
  },
};

// The schema of workflow files, in JSON Schema draft 7, which most editors support. The readers of this folder take the
// known keys and the bounds from here. `null` counts as absent.

/** What a workflow may be called: a path component, and a component of a ref name. */
export const workflowName: RegExp = /^[a-z0-9][a-z0-9._-]{0,63}$/;

export const retriesBounds: Bounds = { minimum: 0, maximum: 100 };
export const returnCodeBounds: Bounds = { minimum: 0, maximum: 255 };

/** Tells whether a role's `cwd` is a folder of the work tree, by its text alone. */
export function isInside(cwd: string | undefined): boolean {
  return cwd === undefined || (cwd !== '' && !isAbsolute(cwd) && !cwd.split(/[/\\]/).includes('..'));
}

const limitDescriptions: Record<keyof Limits, string> = {
  maxSteps: 'steps of the thread, all roles together; those of a role count its own',
  maxVisits: 'steps of one role',
  timeoutMs: 'wall time of one turn, in ms',
  idleTimeoutMs: 'time without a sign of life from the agent, in ms',
  maxTurns: 'how often models are asked',
  maxTokens: 'tokens in and out',
  maxCostUsd: 'US dollars, as far as agents say what they cost',
  maxDepth: 'how deep child threads may nest; 0 allows none',
};

/** The properties of `limits`. Only those of a workflow file may be `null`. */
export function limitProperties({ isNullable }: { isNullable: boolean }): JsonObject {
  return Object.fromEntries(
    limitNames.map((name) => {
      const { type = '', ...bounds } = limitBounds[name];
      const most = type === 'integer' && { maximum: Number.MAX_SAFE_INTEGER };
      return [
        name,
        { description: limitDescriptions[name], type: isNullable ? [type, 'null'] : type, ...bounds, ...most },
      ];
    }),
  );
}

export const UNKNOWN_USAGE =
  "what happens if an agent does not report what a limit counts: 'warn' says so, 'refuse' suspends ('warn')";

const limits = (of: string, more: JsonObject = {}): JsonObject => ({
  description: `where ${of} stops and waits for a person; absent limits do not hold`,
  ...orFile('object', 'null'),
  ...fields({ ...limitProperties({ isNullable: true }), ...more }),
});

export const checkProperties: JsonObject = {
  expression: needed('JSONata that is true for a good reply, whose fields are $meta: $meta.score <= 10'),
  message: needed('what the agent is told when it is false, before it tries again'),
};
const check = fields(checkProperties, ['expression', 'message']);

/** The properties of a rule's target, the same in each notation. */
const targetProperties: JsonObject = {
  prompt: {
    ...text("a Liquid template: what the next role is told, or the thread's summary at its end: '{{ findings }}'"),
    pattern: '\\S',
  },
  location: text('a Liquid template: the folder where the next role works'),
  returnCode: {
    description: 'only where the thread ends: 0, the default, is success',
    type: ['integer', 'null'],
    ...returnCodeBounds,
  },
};

const when = text("JSONata; the rule holds where it is true, and always where it is absent: $visits('coder') > 3");

const on: JsonObject = {
  description: "'limit': this is tried where a limit is reached, and taken instead of waiting for a person",
  enum: ['limit', null],
};

export const ruleProperties: JsonObject = {
  from: needed("the role whose step came last; '__start__', or '__resume__' after an end"),
  to: needed("the next role, or '__end__'"),
  when,
  on,
  ...targetProperties,
};

export const edgeProperties: JsonObject = {
  role: { ...needed("the next role, or '$END'"), not: { const: '$SUSPEND' } },
  ...targetProperties,
  when,
  on,
};

export const conditionalEdgeProperties: JsonObject = {
  ...edgeProperties,
  condition: text("the name of one of the 'conditions'; absent or null always holds"),
};

export const conditionProperties: JsonObject = { expression: needed('JSONata'), description: text('for people') };

/** Refers to {@link definitions}, as all that stands in several places. */
const keywords: JsonObject = { allOf: [{ $ref: '#/definitions/keywords' }] };

export const roleProperties: JsonObject = {
  description: text('what the role is for: for people, and for the other roles'),
  systemPrompt: text('what the agent in this role is told first'),
  goal: text("a part of the system prompt, under the heading 'Goal'"),
  capabilities: {
    description: "a part of the system prompt, under the heading 'Capabilities'",
    ...orFile('array', 'null'),
    items: { type: 'string' },
  },
  procedure: text("a part of the system prompt, under the heading 'Procedure'"),
  output: text("a part of the system prompt, under the heading 'Output'"),
  extractPrompt: text('what is said of the fields that the reply has to report'),
  schema: {
    description: 'what a reply reports, as JSON Schema (draft 2020-12); the rules go by its $status',
    ...orFile('object', 'null'),
    ...keywords,
  },
  frontmatter: { description: "another word for 'schema'", ...orFile('object', 'null'), ...keywords },
  check: {
    description: 'conditions beyond the schema; a reply for which one is false is asked for again',
    ...orFile('array', 'object', 'null'),
    items: { ...orFile('object'), ...check },
    ...check,
  },
  limits: limits('the role'),
  retries: {
    description: 'further tries after a reply that does not validate (2)',
    type: ['integer', 'null'],
    ...retriesBounds,
  },
  snapshot: {
    description:
      "whether the work tree's files are kept with each step: 'off', 'on', or 'changed' (as the configuration says)",
    enum: ['off', 'on', 'changed', true, false, null],
  },
  cwd: {
    ...text("where the agent works: a folder of the work tree, relative to its top ('.')"),
    pattern: String.raw`^(?!/)(?!(?:[^]*[/\\])?\.\.(?:[/\\]|$))[^]`,
    patternErrorMessage: 'a folder of the work tree, relative to its top',
  },
  isolation: isolationField('the role works'),
  needs: {
    description: "labels that a machine must have to take the role's turns unasked: [docker, gpu]",
    ...orFile('array', 'null'),
    items: { type: 'string', pattern: label.source },
    maxItems: MAX_NEEDS,
    uniqueItems: true,
  },
};

const edges: JsonObject = { $ref: '#/definitions/edges' };
const conditionalEdges: JsonObject = { items: { ...orFile('object'), ...fields(conditionalEdgeProperties, ['role']) } };

export const startProperties: JsonObject = { new: edges, resume: edges };

export const workflowProperties: JsonObject = {
  version: { description: 'the version of the notation (1)', enum: [1, null] },
  name: {
    ...needed("what the workflow is called: the file's name without its extension"),
    pattern: workflowName.source,
  },
  description: text('what it is for, in a sentence'),
  roles: {
    description: 'the roles by their names',
    ...orFile('object'),
    propertyNames: { pattern: roleName.source },
    additionalProperties: { ...orFile('object'), ...fields(roleProperties), ...oneKeyOf('schema', 'frontmatter') },
  },
  blocks: {
    description: 'parallel branches that stand where a role stands, by their names',
    ...orFile('object', 'null'),
    minProperties: 1,
    propertyNames: { pattern: roleName.source },
    additionalProperties: {
      ...orFile('object'),
      ...fields(blockProperties, ['join']),
      ...oneKeyOf('branches', 'each'),
    },
  },
  moderator: {
    description: 'the rules that lead from role to role; the first that fits is taken',
    ...orFile('array', 'null'),
    items: { ...orFile('object'), ...fields(ruleProperties, ['from', 'to']) },
  },
  graph: {
    description: 'the short form of the rules: for each role, and for $START, where each $status leads',
    ...orFile('object', 'null'),
    propertyNames: { not: { enum: ['$END', '$SUSPEND'] } },
    properties: {
      $START: {
        description: 'where a thread begins, and where one that has ended goes on',
        ...orFile('object', 'array'),
        properties: startProperties,
        additionalProperties: false,
        ...conditionalEdges,
      },
    },
    additionalProperties: { ...orFile('object', 'array'), additionalProperties: edges, ...conditionalEdges },
  },
  conditions: {
    description: "the conditions that the graph's edges name: JSONata, or a map of 'expression' and 'description'",
    ...orFile('object', 'null'),
    additionalProperties: { type: ['string', 'object'], ...fields(conditionProperties, ['expression']) },
  },
  limits: limits('a thread of this workflow', {
    unknownUsage: { description: UNKNOWN_USAGE, enum: [...unknownUsages, null] },
  }),
  isolation: isolationField('roles that do not say it themselves work'),
};

const definitions: JsonObject = {
  edges: {
    description: 'where this leads: an edge, or a list of edges of which the first whose condition holds is taken',
    ...orFile('object', 'array'),
    items: { ...orFile('object'), ...fields(edgeProperties, ['role']) },
    minItems: 1,
    ...fields(edgeProperties, ['role']),
  },
  keywords: schemaKeywordTypes,
  jsonSchema: { ...orFile('object', 'boolean'), ...keywords },
};

/** The schema of workflow files, for editors. It refuses the same keys, types and bounds as the readers. */
export const workflowFileSchema: JsonObject = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'a workflow of uwf',
  type: 'object',
  ...fields(workflowProperties, ['name']),
  ...oneKeyOf('moderator', 'graph'),
  anyOf: [
    { required: ['roles'], properties: { roles: { description: 'at least one role', minProperties: 1 } } },
    { required: ['blocks'], properties: { blocks: { description: 'blocks without roles', not: { type: 'null' } } } },
  ],
  definitions,
};
