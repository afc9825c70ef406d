import type { NodeHash } from '../../src/cas/hash.ts';
import { encodeNode } from '../../src/cas/node.ts';
import type { EncodedNode } from '../../src/cas/node.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/json.ts';
import { builtIn, builtInSchema } from '../../src/schema/built-in.ts';
import type { TypeName } from '../../src/schema/built-in.ts';

/** A good node of a type, and all hashes it links to. */
export type Sample = { name: TypeName; node: EncodedNode; links: NodeHash[] };

/** Makes a small thread in which there is a node of every built-in schema with every field it can have. */
export function sampleNodes(): Sample[] {
  const samples: Sample[] = [];
  const add = (name: TypeName, payload: JsonValue, links: NodeHash[] = []): NodeHash => {
    const node = encodeNode(builtIn[name], payload);
    samples.push({ name, node, links });
    return node.hash;
  };
  /** Adds the last sample of a type again, with more fields. */
  const addFuller = (name: TypeName, fields: JsonObject, links: NodeHash[] = []): void => {
    const last = samples.findLast((sample) => sample.name === name);
    if (!last || !isJsonObject(last.node.payload)) throw new Error(`there is no sample of ${name}`);
    add(name, { ...last.node.payload, ...fields }, [...last.links, ...links]);
  };
  const text = (content: string): NodeHash => add('content', { text: content });
  const usage = { inputTokens: 1, outputTokens: 2, turns: 1, costUsd: 0.25 };
  const limits = { maxSteps: 9, maxVisits: 3, timeoutMs: 1000, idleTimeoutMs: 500, maxDepth: 0 };

  add('meta-schema', builtInSchema('meta-schema'));
  const artifact = add('artifact', { kind: 'commit', oid: '1'.repeat(40), path: 'src', title: 'the code' });
  const notes = text('notes');
  const withRefs = add('content', { text: 'reply', refs: [artifact, notes] }, [artifact, notes]);
  const roleSchema = add('role-schema', {
    type: 'object',
    properties: { phases: { type: 'array', items: { properties: { hash: { type: 'string', format: 'cas_ref' } } } } },
  });
  const role = add(
    'role',
    {
      name: 'planner',
      description: 'plans',
      systemPrompt: 'You plan.',
      extractPrompt: 'Report the phases.',
      schema: roleSchema,
      check: [{ expression: '$count($meta.phases) > 0', message: 'plan something' }],
      limits,
      retries: 2,
      snapshot: 'changed',
      cwd: 'src',
    },
    [roleSchema],
  );
  const workflow = add(
    'workflow',
    {
      name: 'plan',
      description: 'plans once',
      roles: { planner: role },
      moderator: [
        { from: '__start__', to: 'planner', when: null },
        { from: 'planner', to: '__end__', when: '$steps[-1].meta.ok', prompt: 'ok', location: '.', returnCode: 0 },
      ],
      limits,
    },
    [role],
  );
  const pinned = add('workflow', { name: 'inner', description: '', roles: {}, moderator: [] });
  const agent = add(
    'agent',
    { name: 'inner', package: 'builtin:workflow', version: '0.1.0', config: { workflow: { $cas: pinned } } },
    [pinned],
  );
  const task = text('the task');
  const start = add(
    'thread-start',
    {
      format: 1,
      id: '01KTWEWZ760000000000000000',
      workflow,
      prompt: task,
      agents: { planner: agent },
      depth: 0,
      limits,
      parentThread: null,
      parentState: null,
      parentRole: null,
      startedAtMs: 1,
    },
    [workflow, task, agent],
  );
  const child = add(
    'thread-start',
    {
      format: 1,
      id: '01KTWEWZ760000000000000001',
      workflow: pinned,
      prompt: notes,
      agents: {},
      depth: 1,
      parentThread: start,
      parentState: start,
      parentRole: 'planner',
      startedAtMs: 2,
    },
    [pinned, notes, start],
  );
  const [said, result] = [text('{"path":"a"}'), text('contents of a')];
  const call = add('react-tool-call', { name: 'read', arguments: said, result, durationMs: 3 }, [said, result]);
  const [input, output, thought] = [text('go'), text('gone'), text('hm')];
  const turn = add(
    'react-turn',
    {
      input,
      output,
      toolCalls: [call],
      parts: [thought],
      tokens: { input: 1, output: 2 },
      costUsd: 0.5,
      startedAtMs: 1,
      latencyMs: 2,
    },
    [input, output, call, thought],
  );
  const react = add('react-session', { agent, role: 'planner', turns: [turn], totalTokens: 3, durationMs: 4 }, [
    agent,
    turn,
  ]);
  const failed = text('no front matter');
  const attempt = add('attempt', { content: failed, errors: ['no front matter'], usage: null }, [failed]);
  const role1 = { visits: 1, first: 1, last: 1, usage, replaced: null, children: null, waits: 0 };
  const totals = {
    start: '6'.repeat(40),
    steps: 1,
    usage,
    replaced: usage,
    children: usage,
    roles: { planner: role1 },
    more: { maxSteps: 1 },
    recorded: '6'.repeat(40),
    compacted: { commit: '6'.repeat(40), number: 1 },
    calling: '6'.repeat(40),
    reopened: null,
    skips: ['6'.repeat(40)],
  };
  const childSummary = text('child is done');
  const childEnd = add(
    'thread-end',
    {
      totals,
      outcome: 'completed',
      returnCode: 0,
      summary: childSummary,
      start: child,
      lastStep: null,
      leftUsage: { planner: usage },
      completedAtMs: 5,
    },
    [childSummary, child],
  );
  const phase = text('first phase');
  const prompt = text('all of the prompt');
  const first = add(
    'thread-step',
    {
      totals,
      number: 1,
      role: 'planner',
      meta: { phases: [{ hash: phase, title: 'first' }], seen: { $cas: thought } },
      content: withRefs,
      react,
      start,
      previous: null,
      ancestors: [],
      compact: null,
      childThreads: [childEnd],
      childUsage: usage,
      leftUsage: { planner: usage },
      agent,
      agentVersion: '1',
      stopReason: 'done',
      prompt,
      rule: 0,
      attempts: [attempt],
      usage,
      workspace: { tree: '2'.repeat(40), commit: '3'.repeat(40) },
      startedAtMs: 1,
      completedAtMs: 2,
    },
    [phase, thought, withRefs, react, start, childEnd, agent, prompt, attempt],
  );
  const compact = text('in short');
  const second = add(
    'thread-step',
    {
      totals,
      number: 2,
      role: 'planner',
      meta: {},
      content: notes,
      react: null,
      start,
      previous: first,
      ancestors: [first],
      compact,
      childThreads: [],
      agent,
      prompt,
      rule: null,
      attempts: [],
      usage: null,
      startedAtMs: 3,
      completedAtMs: 4,
    },
    [notes, start, first, compact, agent, prompt],
  );
  const suspension = add(
    'thread-suspend',
    {
      totals,
      role: 'planner',
      reason: 'which one?',
      cause: 'agent',
      start,
      previous: second,
      content: failed,
      react,
      attempts: [attempt],
      agent,
      agentVersion: '1',
      prompt,
      rule: 0,
      usage,
      suspendedAtMs: 5,
    },
    [start, second, failed, react, attempt, agent, prompt],
  );
  const answer = text('the first');
  add('thread-resume', { totals, suspension, answer, start, resumedAtMs: 6 }, [suspension, answer, start]);
  const summary = text('all is done');
  add('thread-end', { totals, outcome: 'failed', returnCode: 1, summary, start, lastStep: second, completedAtMs: 7 }, [
    summary,
    start,
    second,
  ]);
  const redacted = { count: 1, table: '1' };
  const fullUsage = { ...usage, cacheReadTokens: 5, cacheWriteTokens: 6, isAtLeast: true };
  addFuller('role', { isolation: 'worktree', needs: ['gpu'] });
  const rule = { from: 'planner', to: '__end__', when: null, on: 'limit' };
  const threadLimits = { maxTurns: 5, maxTokens: 6, maxCostUsd: 0.5, unknownUsage: 'refuse' };
  addFuller('workflow', { blocks: { reviews: {} }, isolation: 'shared', moderator: [rule], limits: threadLimits });
  const key = { thread: '01KTWEWZ760000000000000000', key: 'plan', block: 'reviews', ordinal: 1 };
  const called = { ...key, given: [answer], reuses: childEnd };
  addFuller('thread-start', { call: called, base: '4'.repeat(64), script: true, redacted }, [answer, childEnd]);
  addFuller('react-turn', { tokens: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 } });
  addFuller('attempt', { usage: fullUsage, redacted, interrupted: true });
  const changes = { head: ['main', 'other'], index: true, files: { count: 1, paths: ['a'] } };
  const missing = { count: 2, files: [{ path: 'large', reason: 'has 9 bytes' }] };
  addFuller(
    'thread-step',
    {
      replaces: first,
      usage: fullUsage,
      redacted,
      isolation: { main: changes, given: { index: true } },
      merge: {
        base: '6'.repeat(40),
        branches: [{ key: 'a', commit: '7'.repeat(40) }],
        git: '2.39.5',
        isRepeatable: true,
      },
      permissions: ['writes a file', { tool: 'run' }],
      fallback: 'other',
      workspace: { tree: '5'.repeat(64), commit: '8'.repeat(64), missing },
    },
    [first],
  );
  addFuller('thread-suspend', { cause: 'permission', usage: fullUsage, due: 9, redacted });
  const more = { maxSteps: 1, maxVisits: 1, maxTurns: 1, maxTokens: 1, maxCostUsd: 0.5 };
  addFuller('thread-resume', { more, by: 'Ada <ada@example.org>', redacted });
  return samples;
}
