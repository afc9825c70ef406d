import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { closedObject, isolations } from '../../schema/built-in/schema-parts.ts';
import {
  type BlockDefinition,
  type BranchDefinition,
  CONFLICT,
  type EachDefinition,
  FAILED,
  isExpression,
  type JoinDefinition,
  JOINED,
  tasksOf,
} from '../definition.ts';
import type { Report } from '../diagnostics/report.ts';
import type { Path } from '../source/source-map.ts';
import { type Fields, readFields, reportType } from './fields.ts';
import { atLeastBounds, atOnceBounds, blockProperties, branchProperties, eachProperties } from './file-schema.ts';

/** A block, and where it stands. */
export type SourceBlock = { name: string; block: BlockDefinition; path: Path };

/** A branch of a block, or its `each`. */
type SourceBranch = {
  branch: BranchDefinition;
  /** Absent for an `each`. */
  key?: string;
  /** How messages name it. */
  title: string;
  path: Path;
};

/** The branches of a block, in the order of the file. */
export function branchesOf({ name, block, path }: SourceBlock): SourceBranch[] {
  return tasksOf(block).map(([key, branch]) =>
    key === undefined
      ? { branch, title: `'each' of block '${name}'`, path: [...path, 'each'] }
      : { branch, key, title: `branch '${key}' of block '${name}'`, path: [...path, 'branches', key] },
  );
}

const instead = {
  role: "a block has 'branches', each with a 'role' or a 'workflow'",
  workflow: "a block has 'branches', each with a 'role' or a 'workflow'",
  over: "it belongs under 'each'",
  atOnce: "it belongs under 'each'",
  schema: 'the schema of what a block reports is made by uwf',
};

/** Reads `blocks`. Faults are reported; a block that cannot be read because of them is left out. */
export function readBlocks(report: Report, fields: Fields): { blocks: SourceBlock[]; isComplete: boolean } {
  const value = fields.get('blocks');
  if (value === undefined) return { blocks: [], isComplete: true };
  if (!isJsonObject(value)) {
    reportType(report, ['blocks'], "'blocks'", 'a map from names to blocks', value);
    return { blocks: [], isComplete: false };
  }
  const names = Object.keys(value);
  if (names.length === 0) report.error('no-blocks', ['blocks'], "'blocks' is empty", { hint: 'remove it', at: 'key' });
  const blocks = names.flatMap((name) => {
    const path = ['blocks', name];
    const block = readBlock(report, name, value[name] ?? null, path);
    return block === undefined ? [] : [{ name, path, block }];
  });
  return { blocks, isComplete: blocks.length === names.length };
}

function readBlock(report: Report, name: string, value: JsonValue, path: Path): BlockDefinition | undefined {
  const known = [...Object.keys(blockProperties), 'schema'];
  const fields = readFields(report, value, path, `block '${name}'`, known, instead);
  if (fields === undefined) return undefined;
  const branches = readBranches(report, fields);
  const each = readEach(report, fields);
  if ((fields.get('branches') === undefined) === (fields.get('each') === undefined)) {
    const both = fields.get('branches') !== undefined;
    const hint = "'branches' are fixed ones, 'each' makes one for every item of a list";
    const message = `${fields.name} ${both ? "has both 'branches' and 'each'" : "has neither 'branches' nor 'each'"}`;
    report.error('branches-or-each', path, message, { hint, at: 'key' });
    return undefined;
  }
  // What is wrong with it is reported. Without the block, each edge from and to it would be reported, too.
  const join = readJoin(fields) ?? 'all';
  const onFailure = fields.oneOf('onFailure', ['wait', 'cancel']);
  const isolation = fields.oneOf('isolation', isolations);
  const merge = readMerge(report, fields);
  const stored = fields.get('schema');
  if ((branches ?? each) === undefined) return undefined;
  return {
    ...(branches && { branches }),
    ...(each && { each }),
    join,
    ...(onFailure && { onFailure }),
    ...(isolation && { isolation }),
    ...(merge && { merge }),
    schema: isJsonObject(stored) ? stored : blockSchema({ join, ...(merge && { merge }) }),
  };
}

function readBranches(report: Report, parent: Fields): BlockDefinition['branches'] {
  const value = parent.get('branches');
  if (value === undefined) return undefined;
  const path = parent.pathOf('branches');
  if (!isJsonObject(value) || Object.keys(value).length === 0) {
    parent.reportType('branches', 'a map from keys to branches, with at least one');
    return undefined;
  }
  const branches = Object.entries(value).flatMap(([key, item]) => {
    const name = `branch '${key}' of ${parent.name}`;
    const fields = readFields(report, item, [...path, key], name, Object.keys(branchProperties));
    const branch = fields && readTask(fields);
    return branch === undefined ? [] : [[key, branch] as const];
  });
  return branches.length === Object.keys(value).length ? Object.fromEntries(branches) : undefined;
}

function readEach(report: Report, parent: Fields): EachDefinition | undefined {
  const value = parent.get('each');
  if (value === undefined) return undefined;
  const name = `'each' of ${parent.name}`;
  const fields = readFields(report, value, parent.pathOf('each'), name, Object.keys(eachProperties));
  if (fields === undefined) return undefined;
  fields.need('over', "JSONata whose value is a list: $last('planner').phases");
  fields.need('as', 'the name of the item in key and prompt');
  fields.need('key', "JSONata that names the branch: 'phase.id'");
  const [over, as, key] = [fields.text('over'), fields.text('as'), fields.text('key')];
  const atOnce = fields.integer('atOnce', atOnceBounds);
  const task = readTask(fields);
  if (over === undefined || as === undefined || key === undefined || task === undefined) return undefined;
  return { ...task, over, as, key, ...(atOnce !== undefined && { atOnce }) };
}

/** Reads what a branch runs. */
function readTask(fields: Fields): BranchDefinition | undefined {
  const [workflow, role, prompt] = [fields.text('workflow'), fields.text('role'), fields.text('prompt')];
  if (prompt?.trim() === '') {
    const hint = 'say what the branch is to do, or leave the key out';
    fields.reportFault('empty-prompt', 'prompt', `the prompt of ${fields.name} is empty`, { hint });
  }
  const told = prompt === undefined ? {} : { prompt };
  if (workflow !== undefined && role === undefined) return { workflow, ...told };
  if (role !== undefined && workflow === undefined) return { role, ...told };
  if (workflow !== undefined) {
    const options = { hint: 'keep one', at: 'key' } as const;
    fields.reportFault('workflow-or-role', 'role', `${fields.name} has both 'workflow' and 'role'`, options);
  } else if (fields.get('workflow') === undefined && fields.get('role') === undefined) {
    fields.reportMissing('workflow', "what it runs: a 'workflow', or a 'role' of this one");
  }
  return undefined;
}

function readJoin(fields: Fields): JoinDefinition | undefined {
  const value = fields.get('join');
  if (typeof value === 'string' && value.trim() !== '') return value;
  if (isJsonObject(value) && Object.keys(value).join() === 'atLeast') {
    const { atLeast } = value;
    const { minimum, maximum } = atLeastBounds;
    if (typeof atLeast === 'number' && Number.isInteger(atLeast) && atLeast >= minimum && atLeast <= maximum) {
      return { atLeast };
    }
  }
  const wanted = "'all', 'any', { atLeast: n } or JSONata over $branches";
  if (value === undefined) fields.reportMissing('join', `when the branches are joined: ${wanted}`);
  else fields.reportType('join', wanted);
  return undefined;
}

function readMerge(report: Report, parent: Fields): BlockDefinition['merge'] {
  const value = parent.get('merge');
  if (value === undefined) return undefined;
  const fields = readFields(report, value, parent.pathOf('merge'), `'merge' of ${parent.name}`, ['order']);
  const order = fields?.oneOf('order', ['key', 'end']);
  if (fields !== undefined && fields.get('order') === undefined) fields.reportMissing('order', "'key' or 'end'");
  return order && { order };
}

/**
 * The schema of the meta of a block's step. It is stored with the workflow, so its text is part of the hash of every workflow
 * with a block: a changed schema is for new workflows only.
 */
export function blockSchema({ join, merge }: Pick<BlockDefinition, 'join' | 'merge'>): JsonObject {
  const isOpen = isExpression(join);
  const statuses = [JOINED, FAILED, ...(merge ? [CONFLICT] : [])];
  const conflicts: JsonObject = {
    type: 'array',
    items: closedObject({
      path: { type: 'string' },
      kind: { type: 'string' },
      keys: { type: 'array', items: { type: 'string' } },
    }),
  };
  return closedObject(
    {
      $status: isOpen ? { type: 'string', minLength: 1 } : { enum: statuses },
      order: { type: 'array', items: { type: 'string' }, uniqueItems: true },
      branches: {
        type: 'object',
        additionalProperties: closedObject({
          status: { type: ['string', 'null'] },
          meta: { type: ['object', 'null'] },
          end: closedObject({
            outcome: { enum: ['completed', 'failed', 'cancelled'] },
            returnCode: { type: 'integer' },
            summary: { type: 'string' },
          }),
        }),
      },
      ...(merge && { conflicts }),
    },
    ['conflicts'],
  );
}
