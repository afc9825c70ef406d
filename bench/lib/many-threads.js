import { agent, workflow } from './one-role.js';
import { prose } from './long-thread.js';
import { writeStep } from './write-step.js';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** So many threads are written at once. */
const BATCH = 1000;

/**
 * Writes many threads, each with a start of its own and 1 to 4 steps, a minute after the one before.
 *
 * @param source the result of `loadSource` for `longThreadSources`
 * @param {object} [options]
 * @param {typeof workflow} [options.definition] its first rule starts its role, the last one repeats it
 * @param {number} [options.bytes] how long the texts are
 * @returns the id of the oldest
 */
export async function writeManyThreads(source, repository, count, { definition = workflow, bytes = 300 } = {}) {
  const { ObjectBatch, publish, draftCommit, contentNode, agentNode, encodeNode, builtIn } = source;
  await source.prepareHashing();
  const by = agentNode(agent);
  const types = source.encodeBuiltIns().map((type) => ({ path: `types/${type.hash}.json`, node: type }));
  let oldest = '';
  let batch = new ObjectBatch();
  let edits = [];
  let pinned = source.writeWorkflowTree(batch, definition);
  for (let at = 0; at < count; at += 1) {
    const startedAtMs = 1_795_262_400_000 - (count - at) * 60_000;
    const id = idOf(startedAtMs, at);
    const prompt = contentNode(`Task ${at}: ${prose(at * 64, bytes)}`);
    const start = encodeNode(builtIn['thread-start'], {
      format: 1,
      id,
      workflow: pinned.hash,
      prompt: prompt.hash,
      agents: { writer: by.hash },
      depth: 0,
      parentThread: null,
      parentState: null,
      parentRole: null,
      startedAtMs,
    });
    const first = draftCommit(repository, batch, {
      kind: 'start',
      node: start,
      files: [{ path: 'prompt.md', node: prompt }, { path: 'agents/writer.json', node: by }, ...types],
      subtrees: [{ path: 'workflow', id: pinned.tree }],
      parents: [],
      before: undefined,
      atMs: startedAtMs,
      beside: { text: prompt.payload.text, workflow: definition.name },
    });
    let head = batch.addCommit(first);
    let tally = source.tallyOfStart(head);
    let ancestors = [];
    for (let number = 1; number <= 1 + (at % 4); number += 1) {
      const atMs = startedAtMs + number * 1000;
      const content = contentNode(prose(at * 64 + number * 8, bytes));
      const asked = contentNode(prose(at * 64 + number * 8 + 1, bytes));
      const rule = number === 1 ? 0 : definition.moderator.length - 1;
      const step = { tally, start: start.hash, ancestors, parent: head, rule, atMs, content };
      ({ head, tally, ancestors } = writeStep(source, repository, batch, { ...step, prompt: asked }));
    }
    oldest ||= id;
    edits.push({ name: source.activeRef(id), expected: null, value: head });
    if (edits.length < BATCH && at + 1 < count) continue;
    await publish(repository, batch, edits);
    batch = new ObjectBatch();
    pinned = source.writeWorkflowTree(batch, definition);
    edits = [];
  }
  return { oldest };
}

function idOf(timeMs, at) {
  let text = '';
  for (let rest = timeMs, place = 0; place < 10; place += 1, rest = Math.floor(rest / 32)) {
    text = alphabet.charAt(rest % 32) + text;
  }
  let state = at + 1;
  for (let place = 0; place < 16; place += 1) {
    state = (state * 48_271) % 2_147_483_647;
    text += alphabet.charAt(state % 32);
  }
  return text;
}
