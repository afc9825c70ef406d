import type { JsonObject } from '../../json.ts';
import { MAX_BRANCHES } from '../definition.ts';
import { fields, isolationField, needed, oneKeyOf, orFile, roleName, text, type Bounds } from './file-schema-parts.ts';

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
