import type { JsonObject } from '../../json.ts';
import { unknownUsages } from '../../schema/built-in/schema-parts.ts';
import { worded } from '../../schema/typed-schema.ts';
import { block } from './block-schema.ts';
import {
  MAX_NEEDS,
  MAX_RETRIES,
  UNKNOWN_USAGE,
  choice,
  eitherKey,
  fields,
  insideWorkTree,
  integer,
  isolationField,
  label,
  limits,
  needed,
  prompt,
  roleName,
  text,
} from './field-schemas.ts';

// What a workflow file may say, as JSON Schema. Every key of a workflow stands here and nowhere else: the build compiles the schema to
// the check of the reader, messages take their words from it, and editors get the same without these words. `null` counts as absent.

export const NAME_RULE =
  'a name has up to 64 of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit';
const LABEL_RULE = 'a label has up to 64 of a-z, 0-9, dot, underscore and hyphen, and begins with a letter or digit';

/** What a workflow may be called: a path component, and a component of a ref name. */
export const workflowName: RegExp = /^[a-z0-9][a-z0-9._-]{0,63}$/;

const checkFields = fields(
  {
    expression: needed(
      'JSONata that is true for a good reply, whose fields are $meta: $meta.score <= 10',
      'JSONata that is true for a good reply',
    ),
    message: needed(
      'what the agent is told when it is false, before it tries again',
      'what the agent is told when it is false',
    ),
  },
  ['expression', 'message'],
);

/** A JSON Schema of the user's own. What is wrong inside it is found by the checks. */
const replySchema = (description: string): JsonObject =>
  worded({ description, type: ['object', 'null'] }, { wanted: 'a JSON Schema (a map)', isSchema: true });

const roleFields = fields({
  description: text('what the role is for: for people, and for the other roles'),
  systemPrompt: text('what the agent in this role is told first'),
  goal: text("a part of the system prompt, under the heading 'Goal'"),
  capabilities: {
    description: "a part of the system prompt, under the heading 'Capabilities'",
    type: ['array', 'null'],
    items: { type: 'string' },
  },
  procedure: text("a part of the system prompt, under the heading 'Procedure'"),
  output: text("a part of the system prompt, under the heading 'Output'"),
  extractPrompt: text('what is said of the fields that the reply has to report'),
  schema: replySchema('what a reply reports, as JSON Schema (draft 2020-12); the rules go by its $status'),
  frontmatter: replySchema("another word for 'schema'"),
  check: worded(
    {
      description: 'conditions beyond the schema; a reply for which one is false is asked for again',
      type: ['array', 'object', 'null'],
      items: worded({ type: 'object', ...checkFields }, { name: '{of}' }),
      ...checkFields,
    },
    { name: 'a check of {of}', wanted: 'a map' },
  ),
  limits: limits('the role'),
  retries: integer('further tries after a reply that does not validate (2)', 0, MAX_RETRIES),
  // A habit of YAML 1.1: `on` and `off` are texts in 1.2, but people write true and false.
  snapshot: worded(
    choice(
      "whether the work tree's files are kept with each step: 'off', 'on', or 'changed' (as the configuration says)",
      ['off', 'on', 'changed', true, false],
    ),
    { wanted: "'off', 'on' or 'changed'" },
  ),
  cwd: worded(
    {
      ...text("where the agent works: a folder of the work tree, relative to its top ('.')"),
      pattern: insideWorkTree.source,
    },
    { faults: { pattern: { code: 'bad-cwd', says: '{name} must be a folder of the work tree, relative to its top' } } },
  ),
  isolation: isolationField('the role works'),
  needs: worded(
    {
      description: "labels that a machine must have to take the role's turns unasked: [docker, gpu]",
      type: ['array', 'null'],
      items: worded(
        { type: 'string', pattern: label.source },
        {
          name: "a label in 'needs' of {of}",
          faults: { pattern: { code: 'bad-label', says: "'{value}' cannot be {name}", hint: LABEL_RULE } },
        },
      ),
      maxItems: MAX_NEEDS,
      uniqueItems: true,
    },
    {
      wanted: 'a list of labels, such as [docker, gpu]',
      faults: {
        maxItems: { code: 'too-large', says: `{of} needs more labels than the ${MAX_NEEDS} that are allowed` },
        uniqueItems: { code: 'bad-label', says: "{of} needs '{value}' twice" },
      },
    },
  ),
});

const role = worded(
  { type: 'object', ...roleFields, ...eitherKey('schema', 'frontmatter') },
  {
    name: "role '{0}'",
    instead: {
      prompt: "a role's instructions are its 'systemPrompt'; a 'prompt' belongs to a rule",
      system: "it is called 'systemPrompt'",
      outputSchema: "it is called 'schema'",
      agent: "agents are bound in the configuration ('roles'), never by a workflow",
      maxVisits: "it belongs under 'limits'",
      timeoutMs: "it belongs under 'limits'",
    },
    faults: {
      oneOf: {
        code: 'two-schemas',
        says: "{name} has both 'schema' and 'frontmatter'",
        hint: 'they are the same; keep one',
        at: 'key',
      },
      'oneOf none': {
        code: 'missing-key',
        says: "{name} lacks 'schema'",
        hint: 'what it reports, as JSON Schema: schema: { type: object, properties: { … } }',
        at: 'key',
      },
    },
  },
);

const ALWAYS = "a rule that always holds has 'when: null'";

/** What a rule and an edge of a graph say alike. */
const ruleProperties: JsonObject = {
  prompt: prompt(
    "a Liquid template: what the next role is told, or the thread's summary at its end: '{{ findings }}'",
    'the next role',
  ),
  location: text('a Liquid template: the folder where the next role works'),
  returnCode: integer('only where the thread ends: 0, the default, is success', 0, 255),
  when: worded(text("JSONata; the rule holds where it is true, and always where it is absent: $visits('coder') > 3"), {
    faults: {
      type: {
        code: 'wrong-type',
        says: "'when' of {of} must be a JSONata expression or null, not {shown}",
        hint: ALWAYS,
      },
    },
  }),
  on: choice("'limit': this is tried where a limit is reached, and taken instead of waiting for a person", ['limit']),
};

const rule = worded(
  {
    type: 'object',
    ...fields(
      {
        from: needed("the role whose step came last; '__start__', or '__resume__' after an end"),
        to: needed("the next role, or '__end__'"),
        ...ruleProperties,
      },
      ['from', 'to'],
    ),
  },
  {
    name: 'rule {0}',
    instead: {
      condition: "it is called 'when'",
      if: "it is called 'when'",
      role: "the next role is 'to'",
      status: "write it as when: \"$steps[-1].meta.`$status` = '…'\", or use 'graph'",
    },
  },
);

const SUSPENDING =
  "suspending is no edge: a role suspends the thread by replying with $status: '$SUSPEND' and a reason";

const edgeFields = (more: JsonObject = {}): JsonObject =>
  fields(
    {
      role: worded(
        { ...needed("the next role, or '$END'"), not: { const: '$SUSPEND' } },
        {
          needed: "the next role, or '$END'",
          faults: { not: { code: 'reserved-name', says: '{of} leads to $SUSPEND', hint: SUSPENDING } },
        },
      ),
      ...ruleProperties,
      ...more,
    },
    ['role'],
  );

const edgeWords = { instead: { to: "the next role is 'role' in a graph", if: "it is called 'when'" } };

/** Refers to {@link definitions}, as all that stands in several places. */
const edges: JsonObject = { $ref: '#/definitions/edges' };

const conditionalEdges: JsonObject = {
  items: worded(
    {
      type: 'object',
      ...edgeFields({ condition: text("the name of one of the 'conditions'; absent or null always holds") }),
    },
    { name: 'edge {0} of {1}', ...edgeWords },
  ),
};

const definitions: JsonObject = {
  edges: worded(
    {
      description: 'where this leads: an edge, or a list of edges of which the first whose condition holds is taken',
      type: ['object', 'array'],
      items: worded({ type: 'object', ...edgeFields() }, { name: "edge {0} of '{1}' of {2}", ...edgeWords }),
      minItems: 1,
      ...edgeFields(),
    },
    {
      name: "edge '{0}' of {1}",
      ...edgeWords,
      faults: { minItems: { code: 'no-edge', says: '{name} leads nowhere', at: 'key' } },
    },
  ),
};

const A_NODE = 'a map from $status to where it leads, or a list of conditions';

const graph = worded(
  {
    description: 'the short form of the rules: for each role, and for $START, where each $status leads',
    type: ['object', 'null'],
    propertyNames: { not: { enum: ['$END', '$SUSPEND'] } },
    properties: {
      $START: worded(
        {
          description: 'where a thread begins, and where one that has ended goes on',
          type: ['object', 'array'],
          properties: { new: edges, resume: edges },
          additionalProperties: false,
          ...conditionalEdges,
        },
        { name: '$START', wanted: A_NODE, instead: { _: "did you mean 'new'?" } },
      ),
    },
    additionalProperties: worded(
      { type: ['object', 'array'], additionalProperties: edges, ...conditionalEdges },
      { name: "'{0}' of the graph", wanted: A_NODE },
    ),
  },
  {
    wanted: 'a map from each role to where it leads',
    faults: {
      propertyNames: {
        code: 'reserved-name',
        says: 'nothing leads on from {value}',
        hint: `remove it: what is over leads nowhere, and ${SUSPENDING}`,
        at: 'key',
      },
    },
  },
);

const conditions = worded(
  {
    description: "the conditions that the graph's edges name: JSONata, or a map of 'expression' and 'description'",
    type: ['object', 'null'],
    additionalProperties: worded(
      {
        type: ['string', 'object'],
        ...fields({ expression: needed('JSONata'), description: text('for people') }, ['expression']),
      },
      { name: "condition '{0}'" },
    ),
  },
  { wanted: 'a map from names to expressions' },
);

export const notationSchema: JsonObject = worded(
  {
    type: 'object',
    ...fields(
      {
        version: worded(choice('the version of the notation (1)', [1]), {
          faults: {
            enum: { code: 'unknown-version', says: 'this uwf reads version 1 of the notation, not {shown}' },
          },
        }),
        name: worded(
          {
            ...needed("what the workflow is called: the file's name without its extension"),
            pattern: workflowName.source,
          },
          {
            faults: {
              pattern: {
                code: 'bad-name',
                says: "'{value}' cannot name a workflow",
                hint: NAME_RULE,
                isReadable: true,
              },
            },
          },
        ),
        description: text('what it is for, in a sentence'),
        roles: worded(
          {
            description: 'the roles by their names',
            type: ['object', 'null'],
            propertyNames: { pattern: roleName.source },
            additionalProperties: role,
          },
          { wanted: 'a map from names to roles' },
        ),
        blocks: worded(
          {
            description: 'parallel branches that stand where a role stands, by their names',
            type: ['object', 'null'],
            minProperties: 1,
            propertyNames: { pattern: roleName.source },
            additionalProperties: block,
          },
          {
            wanted: 'a map from names to blocks',
            faults: { minProperties: { code: 'no-blocks', says: "'blocks' is empty", hint: 'remove it', at: 'key' } },
          },
        ),
        moderator: worded(
          {
            description: 'the rules that lead from role to role; the first that fits is taken',
            type: ['array', 'null'],
            items: rule,
          },
          { wanted: 'a list of rules' },
        ),
        graph,
        conditions,
        limits: limits('a thread of this workflow', { unknownUsage: choice(UNKNOWN_USAGE, unknownUsages) }),
        isolation: isolationField('roles that do not say it themselves work'),
      },
      ['name'],
    ),
    ...eitherKey('moderator', 'graph'),
    definitions,
  },
  {
    name: 'the workflow',
    instead: {
      rules: "the rules are under 'moderator'",
      steps: "a workflow has 'roles' and the rules ('moderator' or 'graph') that lead from one to the next",
      agents: 'agents are bound in the configuration, never by a workflow',
      maxSteps: "it belongs under 'limits'",
      schema: 'every role has its own',
    },
    faults: {
      oneOf: {
        code: 'two-notations',
        says: "{name} has both 'moderator' and 'graph'",
        hint: 'they say the same in two ways; keep one',
        at: 'key',
      },
      'oneOf none': {
        code: 'missing-key',
        says: "{name} lacks 'moderator'",
        hint: "the rules that lead from role to role; or the short form 'graph', whose edges may name 'conditions'",
        at: 'key',
      },
    },
  },
);
