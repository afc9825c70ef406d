import type { JsonObject } from '../../json.ts';
import { worded } from '../../schema/typed-schema.ts';
import { MAX_BRANCHES } from '../definition.ts';
import { choice, eitherKey, fields, integer, isolationField, needed, prompt, text, roleName } from './field-schemas.ts';

// The part of the schema of workflow files that is about blocks.

/** What a branch runs, and its prompt. */
const branchProperties: JsonObject = {
  workflow: text('the workflow that the branch runs: a name, a file or a hash'),
  role: text('the role of this workflow that the branch runs, in a workflow of that role alone'),
  prompt: prompt("a Liquid template: what the branch is told, as the prompt of a rule; 'key' is its key", 'the branch'),
};

const branchWords = {
  oneOf: { code: 'workflow-or-role', says: "{name} has both 'workflow' and 'role'", hint: 'keep one', at: 'key' },
  'oneOf none': {
    code: 'missing-key',
    says: "{name} lacks 'workflow'",
    hint: "what it runs: a 'workflow', or a 'role' of this one",
    at: 'key',
  },
} as const;

const BOTH_WAYS = "'branches' are fixed ones, 'each' makes one for every item of a list";
const JOINS = "'all', 'any', { atLeast: n } or JSONata over $branches";

const blockFields = fields(
  {
    branches: worded(
      {
        description: 'the branches by their keys',
        type: ['object', 'null'],
        minProperties: 1,
        propertyNames: { pattern: roleName.source },
        additionalProperties: worded(
          { type: 'object', ...fields(branchProperties), ...eitherKey('workflow', 'role') },
          { name: "branch '{0}' of {of}", faults: branchWords },
        ),
      },
      { wanted: 'a map from keys to branches, with at least one' },
    ),
    each: worded(
      {
        description: 'a branch for each item of a list',
        type: ['object', 'null'],
        ...fields(
          {
            over: needed(
              "JSONata whose value is a list: $last('planner').phases",
              "JSONata whose value is a list: $last('planner').phases",
            ),
            as: worded(
              {
                ...needed("the name of an item in 'key' and 'prompt'", 'the name of the item in key and prompt'),
                pattern: '^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$',
              },
              {
                needed: 'the name of the item in key and prompt',
                faults: {
                  pattern: {
                    code: 'bad-name',
                    says: "'{value}' cannot name the item of block '{2}'",
                    isReadable: true,
                    hint: 'a name has up to 64 letters, digits and underscores, and begins with one letter',
                  },
                },
              },
            ),
            key: needed(
              "JSONata over the item, whose value names the branch: 'phase.id'",
              "JSONata that names the branch: 'phase.id'",
            ),
            ...branchProperties,
            atOnce: integer('how many branches run at once (64)', 1, MAX_BRANCHES),
          },
          ['over', 'as', 'key'],
        ),
        ...eitherKey('workflow', 'role'),
      },
      { name: "'each' of {of}", faults: branchWords },
    ),
    join: worded(
      {
        description: "when the branches are joined: 'all', 'any', { atLeast: n }, or JSONata over $branches",
        type: ['string', 'object'],
        pattern: '\\S',
        properties: {
          atLeast: {
            description: 'how many branches have to complete',
            type: 'integer',
            minimum: 1,
            maximum: MAX_BRANCHES,
          },
        },
        required: ['atLeast'],
        additionalProperties: false,
      },
      { wanted: JOINS, needed: `when the branches are joined: ${JOINS}` },
    ),
    onFailure: choice(
      "what happens to the other branches when the join cannot hold any more: 'wait' (the default) or 'cancel'",
      ['wait', 'cancel'],
    ),
    isolation: isolationField('the branches work'),
    merge: {
      description: "merges the files of the branches, in the order of their keys ('key') or of their ends ('end')",
      type: ['object', 'null'],
      ...fields(
        {
          order: worded(
            {
              description: "whose files come first: 'key' by their keys, 'end' by who ended first",
              enum: ['key', 'end'],
            },
            { needed: "'key' or 'end'" },
          ),
        },
        ['order'],
      ),
    },
    // uwf makes it: a stored definition has it, and a file that repeats it is let be.
    schema: { description: 'the schema of what the block reports', type: ['object', 'null'], readOnly: true },
  },
  ['join'],
);

const inBranches = "a block has 'branches', each with a 'role' or a 'workflow'";
/** A block of a workflow. */
export const block: JsonObject = worded(
  { type: 'object', ...blockFields, ...eitherKey('branches', 'each') },
  {
    name: "block '{0}'",
    instead: {
      role: inBranches,
      workflow: inBranches,
      over: "it belongs under 'each'",
      atOnce: "it belongs under 'each'",
    },
    faults: {
      oneOf: { code: 'branches-or-each', says: "{name} has both 'branches' and 'each'", hint: BOTH_WAYS, at: 'key' },
      'oneOf none': {
        code: 'branches-or-each',
        says: "{name} has neither 'branches' nor 'each'",
        hint: BOTH_WAYS,
        at: 'key',
      },
    },
  },
);
