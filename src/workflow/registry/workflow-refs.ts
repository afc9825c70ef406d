import { UwfError } from '../../errors.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import type { RefName } from '../../git/ref-store.ts';
import { whyNoWorkflowName } from '../check/check-names.ts';

/** Where registered workflows live, one ref by name; each registration is a commit on it. */
export const WORKFLOWS_PREFIX = 'refs/workflows/';

/** A text that cannot name a workflow. */
export class InvalidWorkflowName extends UwfError {
  readonly workflow: string;
  constructor(workflow: string, reason: string) {
    super(`'${workflow}' cannot name a workflow`, { code: 'invalid-workflow-name', kind: 'usage', hint: reason });
    this.workflow = workflow;
  }
}

/**
 * The ref of a registered workflow.
 * @throws {InvalidWorkflowName} if no workflow can have this name
 */
export function workflowRef(name: string): RefName {
  const reason = whyNoWorkflowName(name);
  if (reason !== undefined) throw new InvalidWorkflowName(name, reason);
  return parseRefName(WORKFLOWS_PREFIX + name);
}
