import { UwfError } from '../../errors.ts';
import { parseRefName } from '../../git/format/refs.ts';
import type { RefName } from '../../git/repository.ts';
import { whyNoWorkflowName } from '../check/validate-workflow.ts';

/** Where registered workflows live, one ref by name; each registration is a commit on it. */
export const WORKFLOWS_PREFIX = 'refs/workflows/';

/** The ref of a registered workflow. @throws {UwfError} `invalid-workflow-name` if no workflow can have this name */
export function workflowRef(name: string): RefName {
  const hint = whyNoWorkflowName(name);
  if (hint !== undefined) {
    const facts = { workflow: name };
    throw new UwfError(`'${name}' cannot name a workflow`, {
      code: 'invalid-workflow-name',
      kind: 'usage',
      hint,
      facts,
    });
  }
  return parseRefName(WORKFLOWS_PREFIX + name);
}
