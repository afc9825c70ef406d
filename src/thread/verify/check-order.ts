import { MAX_ANCESTORS } from '../../schema/built-in/thread-step.ts';
import { callIdFor } from '../new-thread-id.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import { parseThreadId } from '../thread-id.ts';
import type { CommitOf } from '../thread-state.ts';
import type { Report } from './finding.ts';
import type { Progress } from './progress.ts';
import type { Standing } from './standing.ts';

/**
 * Checks what a commit's node says of the commits before it: its start, the step before, its number and ancestors, what it
 * resumes, what it ends.
 * @param before the thread up to the commit; the chain, not the nodes, says which that is
 */
export function checkOrder(commit: ThreadCommit, before: Progress, report: Report): void {
  const path = `${commit.kind}.json`;
  const differ = (field: string, is: unknown, wanted: unknown): void => {
    if (is !== wanted) report(path, `${field} is ${show(is)}, by the commits before it has to be ${show(wanted)}`);
  };
  if (commit.kind === 'start') return;
  differ('start', commit.node.start, before.start.hash);
  const { head, last } = before;
  if (head.kind === 'end') report(null, 'it stands on the end of its thread');
  if (head.kind === 'suspend' && commit.kind !== 'resume' && commit.kind !== 'end') {
    report(null, 'it stands on a suspension that was not resumed');
  }
  switch (commit.kind) {
    case 'step': {
      const { number, previous, ancestors, childThreads } = commit.node;
      if (new Set(childThreads).size < childThreads.length) report(path, 'it names a child thread twice');
      differ('number', number, before.steps + 1);
      differ('previous', previous, last?.hash ?? null);
      const wanted = last ? [last.hash, ...last.ancestors].slice(0, MAX_ANCESTORS) : [];
      differ('ancestors', ancestors.join(' '), wanted.join(' '));
      break;
    }
    case 'suspend':
      differ('previous', commit.node.previous, last?.hash ?? null);
      break;
    case 'resume':
      if (head.kind === 'suspend') differ('suspension', commit.node.suspension, head.hash);
      break;
    case 'end':
      differ('lastStep', commit.node.lastStep, last?.hash ?? null);
      differ('returnCode 0', commit.node.returnCode === 0, commit.node.outcome === 'completed');
  }
}

/** What a start says of its caller, against the chain that it stands on. */
export function checkCaller(start: CommitOf<'start'>, caller: Standing | undefined, report: Report): void {
  const { id, parentThread, parentState, parentRole, depth, call } = start.node;
  const differ = (field: string, is: unknown, wanted: unknown): void => {
    if (is !== wanted) report('start.json', `${field} is ${show(is)}, by its caller it has to be ${show(wanted)}`);
  };
  differ('parentThread', parentThread, caller?.start.hash ?? null);
  differ('parentState', parentState, caller?.state ?? null);
  differ('depth', depth, caller ? caller.start.depth + 1 : 0);
  if ((parentRole === null) !== (caller === undefined)) differ('parentRole', parentRole, caller ? 'a role' : null);
  if (call === undefined) return;
  const place = caller && parentRole !== null && { state: caller.stateAt, role: parentRole };
  if (!place) return report('start.json', 'it is a call, and there is no caller');
  const { thread, key, ordinal = 0 } = call;
  differ('id', id, callIdFor({ ...place, thread: parseThreadId(thread), key, ordinal }));
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
}
