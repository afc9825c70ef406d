import { pathName } from '../../cas/path-name.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { builtIn } from '../../schema/built-in.ts';
import { BLOCK_PACKAGE } from '../../schema/built-in/agent.ts';
import type { Workflow } from '../../schema/built-in/workflow.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { linkedSchema, pinnedName } from '../../workflow/nodes/stored-blocks.ts';
import type { ReportFault } from '../fault.ts';

const WORKFLOW = 'workflow/workflow.json';

/**
 * Checks that a start has what its workflow's blocks need: the schema of each block's meta, a record of each block, and the
 * definition of each branch. The definition of a branch that is a role has that role of the workflow, and no other.
 *
 * @param nodes the nodes of the start's tree that could be read, by path
 */
export function checkPins(nodes: ReadonlyMap<string, StoredNode>, report: ReportFault): void {
  const workflow = findWorkflow(nodes, WORKFLOW);
  for (const [name, block] of Object.entries(workflow?.blocks ?? {})) {
    const schema = nodes.get(`workflow/schemas/${pathName(name)}.json`);
    if (linkedSchema(block) === undefined) report(WORKFLOW, `block '${name}' has no schema`);
    else if (schema && schema.type !== builtIn['role-schema'])
      report(WORKFLOW, `the schema of block '${name}' is none of a role`);
    const record = nodes.get(`agents/${pathName(name)}.json`);
    if (record === undefined) report('start.json', `no agent is recorded for block '${name}'`);
    else if (payloadOf(record, 'agent').package !== BLOCK_PACKAGE) {
      report(`agents/${pathName(name)}.json`, `'${name}' is a block, which ${BLOCK_PACKAGE} runs`);
    }
    for (const [key, branch] of branchesOf(block)) {
      const folder = `children/${pathName(pinnedName(name, key))}`;
      const pinned = findWorkflow(nodes, `${folder}/workflow.json`);
      const what = key === undefined ? `the branches of block '${name}'` : `branch '${key}' of block '${name}'`;
      if (pinned === undefined)
        report(folder, `it has no definition, which ${what} ${key === undefined ? 'need' : 'needs'}`);
      else if (workflow && !isOfRole(workflow, pinned, branch)) report(folder, `it is not what ${what} is to run`);
    }
  }
}

function findWorkflow(nodes: ReadonlyMap<string, StoredNode>, path: string): Workflow | undefined {
  const node = nodes.get(path);
  return node && node.type === builtIn.workflow ? payloadOf(node, 'workflow') : undefined;
}

/** The fixed branches of a block by their keys, or what all branches of an `each` run. */
function branchesOf({ branches, each }: JsonObject): [key: string | undefined, branch: JsonValue][] {
  return isJsonObject(branches) ? Object.entries(branches) : each === undefined ? [] : [[undefined, each]];
}

/** Tells whether a pinned workflow is the one of a branch: of its name, or of its role alone. */
function isOfRole(caller: Workflow, pinned: Workflow, branch: JsonValue): boolean {
  const { role, workflow } = isJsonObject(branch) ? branch : {};
  if (typeof role !== 'string') return pinned.name === workflow;
  const { [role]: own, ...others } = pinned.roles;
  return pinned.name === caller.name && own === caller.roles[role] && Object.keys(others).length === 0;
}
