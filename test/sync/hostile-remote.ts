import { prepareHashing, hashNode } from '../../src/cas/hash.ts';
import { encodeNode } from '../../src/cas/node.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { parseObjectId, type ObjectId } from '../../src/git/format/object-id.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { appendStep, type StepDraft } from '../../src/thread/append-step.ts';
import { endThread, startThread } from '../../src/thread/thread-verbs.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import type { Rule, WorkflowDefinition } from '../../src/workflow/definition.ts';
import { registerWorkflow } from '../../src/workflow/registry/find-workflow.ts';
import { writeWorkflowTree } from '../../src/workflow/nodes.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { loop, startLoop, stepDraft } from '../thread/thread-fixture.ts';
import { createDice, growThread } from '../verify/grow-thread.ts';
import { addNode, forge, store, storeTree, type Draft } from '../verify/forge-commit.ts';
import { collidingTexts, contentOfHash } from './forge-hash.ts';

/** A repository that somebody made who means harm, and why each of its refs that is not sound has to be refused. */
export type HostileRemote = { remote: MapRepository; reasons: Map<string, RegExp> };

export type HostileOptions = {
  /** How many sound threads there are beside the others. */
  sound: number;
  /** How large the file is that is too large. */
  largeBytes: number;
  /** How many refs lead to one commit that is none of a thread. */
  garbageRefs: number;
  /** Whether there are workflows whose rules do not end: each is waited for a second or two. */
  endlessRules: boolean;
  /** Whether there are objects that only git refuses, which it does where they are fetched. */
  isFetched: boolean;
};

const MIB = 1024 * 1024;

/** Every sort of harm that a remote can do with objects that git itself serves. */
export async function createHostileRemote(options: HostileOptions): Promise<HostileRemote> {
  await prepareHashing();
  const remote = createMapRepository();
  const reasons = new Map<string, RegExp>();
  const dice = createDice(99);
  for (let count = 0; count < options.sound; count++) await growThread(remote, dice, 2);
  await registerWorkflow(remote, loop);
  const hostile = new Hostile(remote, reasons);
  await hostile.addObjects(options.largeBytes);
  if (options.isFetched) await hostile.addUnsound();
  await hostile.addNodes();
  await hostile.addCommits();
  if (options.endlessRules) await hostile.addWorkflows();
  hostile.addRefs(options.garbageRefs);
  return { remote, reasons };
}

class Hostile {
  readonly #remote: MapRepository;
  readonly #reasons: Map<string, RegExp>;

  constructor(remote: MapRepository, reasons: Map<string, RegExp>) {
    this.#remote = remote;
    this.#reasons = reasons;
  }

  async addObjects(largeBytes: number): Promise<void> {
    const remote = this.#remote;
    const file = store(remote, 'blob', 'a file\n');
    const folder = (...lines: [string, string, ObjectId][]): ObjectId => storeTree(remote, lines);
    const large = store(remote, 'blob', Buffer.alloc(largeBytes));
    await this.#workspace(folder(['100644', 'large', large]), /has \d+ bytes, more than/);
    // Ten of ten of ten …: more files than there are atoms.
    let bomb = folder(['100644', 'a', file]);
    for (let level = 0; level < 30; level++) {
      bomb = folder(...Array.from('0123456789', (name): [string, string, ObjectId] => ['40000', name, bomb]));
    }
    await this.#workspace(bomb, /more than \d+ files/);
    let deep = folder(['100644', 'a', file]);
    for (let level = 0; level < 3000; level++) deep = folder(['40000', 'd', deep]);
    await this.#workspace(deep, /more than \d+ deep/);
    await this.#step(/a mode that git no longer writes|badFilemode/, (draft) => {
      draft.files.set('output.md', { mode: '100664', id: draft.files.get('output.md')!.id });
    });
    await this.#step(/more than the \d+ allowed/, (draft) => {
      addNode(remote, draft, 'output.md', builtIn.content, { text: 'x'.repeat(24 * MIB) });
    });
    await this.#step(/nested more than/, (draft) => {
      draft.files.set('output.md', { mode: '100644', id: store(remote, 'blob', `{"payload":${'['.repeat(1e6)}`) });
    });
    await this.#step(/more than \d+ values/, (draft) => {
      draft.files.set('output.md', { mode: '100644', id: store(remote, 'blob', `{"payload":[${'{},'.repeat(2e6)}`) });
    });
    await this.#step(/more than \d+ files|deeper than/, (draft) => {
      draft.files.set('trace', { mode: '40000', id: bomb });
    });
  }

  /** What `git fsck --strict` refuses. */
  async addUnsound(): Promise<void> {
    const remote = this.#remote;
    const file = store(remote, 'blob', 'a file\n');
    const folder = (...lines: [string, string, ObjectId][]): ObjectId => storeTree(remote, lines);
    const inside = folder(['100644', 'config', file]);
    await this.#workspace(folder(['40000', '..', inside]), /hasDotdot/);
    await this.#workspace(folder(['40000', '.git', inside]), /hasDotgit/);
    await this.#workspace(folder(['40000', '.GiT', inside]), /hasDotgit/);
    await this.#workspace(folder(['100644', 'git~1', file]), /hasDotgit/);
    await this.#workspace(folder(['100644', '.g\u200cit', file]), /hasDotgit/);
    await this.#workspace(folder(['100644', 'a/b', file]), /fullPathname/);
    await this.#workspace(folder(['100644', 'a', file], ['100644', 'a', file]), /duplicateEntries/);
    await this.#workspace(folder(['100644', 'b', file], ['100644', 'a', file]), /treeNotSorted/);
    await this.#workspace(folder(['100600', 'a', file]), /badFilemode/);
    await this.#workspace(folder(['040000', 'a', inside]), /zeroPaddedFilemode/);
    await this.#workspace(folder(['120000', '.gitmodules', file]), /gitmodulesSymlink/);
    const modules = (url: string): string => `[submodule "a"]\n\turl = ${url}\n\tpath = a\n`;
    for (const url of ['-u./evil', `-u./${'e'.repeat(300_000)}`]) {
      const id = store(remote, 'blob', modules(url));
      await this.#workspace(folder(['100644', '.gitmodules', id]), /gitmodulesUrl/);
    }
    const huge = store(remote, 'blob', `${modules('./fine')}#${'.'.repeat(5 * MIB)}\n`);
    await this.#workspace(folder(['100644', '.gitmodules', huge]), /gitmodulesLarge/);
    const attributes = store(remote, 'blob', `${'a'.repeat(3_000)}\n`);
    await this.#workspace(folder(['100644', '.gitattributes', attributes]), /gitattributesLineLength/);
    const date = 'committer C O Mitter <committer@example.com> 01795262401 +0000';
    await this.#commit(/zeroPaddedDate/, (text) => text.replace(/^committer .*$/m, date));
    await this.#commit(/nulInCommit|control characters/, (text) => `${text}\0`);
    await this.#commit(/missingEmail/, (text) =>
      text.replace(/^committer .*$/m, 'committer C O Mitter 1795262401 +0000'),
    );
  }

  /** A thread whose only step is a commit that was written in another way. */
  #commit(reason: RegExp, change: (text: string) => string): Promise<void> {
    return this.#thread(reason, async (state) => {
      const { head } = await appendStep(this.#remote, state, stepDraft());
      return store(this.#remote, 'commit', change(Buffer.from(this.#remote.objectMap.get(head.id)!.data).toString()));
    });
  }

  async addNodes(): Promise<void> {
    const remote = this.#remote;
    await this.#step(/neither its text nor its JSON has this hash/, (draft) => {
      draft.files.set('output.md', { mode: '100644', id: store(remote, 'blob', 'something else\n') });
    });
    const [text, other] = collidingTexts();
    await this.#thread(/two different objects, .* claim to be node/, async (state) => {
      const first = await appendStep(remote, state, stepDraft({ text }));
      const draft = stepDraft({ role: 'checker', rule: 1, text: 'No.' });
      const second = await appendStep(remote, first, draft);
      return forge(remote, second.head.id, (forged) => {
        forged.node['content'] = addNode(remote, forged, 'output.md', builtIn.content, { text: other });
      });
    });
    await this.#step(/leads back to it/, (draft) => {
      const claimed = hashNode(builtIn.content, { text: 'what the one node claims to be' });
      const one = encodeNode(builtIn.content, { refs: [claimed], text: 'one' });
      const two = contentOfHash(claimed, one.hash);
      draft.node['content'] = addNode(remote, draft, 'output.md', builtIn.content, { refs: [claimed], text: 'one' });
      addNode(remote, draft, `artifacts/${claimed}.json`, builtIn.content, two);
    });
    await this.#step(/there is no node/, (draft) => {
      draft.node['meta'] = { $status: 'done', link: hashNode(builtIn.content, { text: 'nowhere' }) };
    });
    await this.#step(/the index lists it, and the tree does not have it/, (draft) => {
      draft.listed.set('artifacts/none.md', hashNode(builtIn.content, { text: 'none' }));
    });
    await this.#step(/meta.* must/, (draft) => {
      draft.node['meta'] = { $status: 'neither' };
    });
  }

  async addCommits(): Promise<void> {
    const remote = this.#remote;
    await this.#step(/its message says/, (draft) => {
      draft.message = draft.message.replace('Uwf-Status: done', 'Uwf-Status: again');
    });
    await this.#step(/without control characters/, (draft) => {
      draft.message = `\x1b]0;title\x07${draft.message}`;
    });
    await this.#step(/number is 7/, (draft) => {
      draft.node['number'] = 7;
    });
    const stranger = await startLoop(remote);
    await this.#step(/there is no node/, (draft) => {
      draft.parents = [stranger.head.id];
    });
    await this.#step(/nothing accounts for its parent/, (draft) => {
      draft.parents = [...draft.parents, stranger.head.id];
    });
    await this.#step(/is no start and has no parent/, (draft) => {
      draft.parents = [];
    });
    await this.#step(/more than \d+ parents/, (draft) => {
      draft.parents = Array.from({ length: 5_000 }, () => draft.parents[0]!);
    });
    await this.#step(/by the rules/, (draft) => {
      draft.node['rule'] = 3;
    });
    const ended = await endThread(remote, await startLoop(remote), {
      outcome: 'cancelled',
      returnCode: 130,
      summary: 'no',
    });
    this.#expect(`refs/history/2001-01-01/${ended.id}`, ended.head.id, /ended on another day/);
    const active = await startLoop(remote);
    this.#drop(active);
    this.#expect(`refs/history/2026-11-21/${active.id}`, active.head.id, /is for threads that ended/);
  }

  async addWorkflows(): Promise<void> {
    const endless = '($f := function($n) { $f($n + 1) }; $f(0))';
    const backtracking = `$contains('${'a'.repeat(40)}!', /^(a+)+$/)`;
    for (const when of [endless, backtracking]) {
      const workflow = workflowOf(when);
      await this.#thread(/does not come to a decision/, async () => (await this.#runOf(workflow)).head.id);
      await registerWorkflow(this.#remote, { ...workflow, name: `w${this.#reasons.size}` });
      this.#reasons.set(`refs/workflows/w${this.#reasons.size}`, /does not come to a decision/);
    }
    // On a thread with a step alone.
    const later = workflowOf(`$count($steps) = 0 or $contains($steps[-1].text & '!', /^(a+)+$/)`);
    await this.#thread(/does not come to a decision/, async () => (await this.#runOf(later, 'a'.repeat(40))).head.id);
    const pattern = { type: 'object', properties: { $status: { type: 'string', pattern: '^(a+)+$' } } };
    const role = { ...loop.roles['writer']!, schema: pattern };
    const hangs: WorkflowDefinition = { ...loop, roles: { writer: role, checker: role } };
    await this.#thread(/took longer than/, async () => {
      const state = await this.#runOf(hangs, 'text', { $status: 'aaa' });
      return forge(this.#remote, state.head.id, (draft) => {
        draft.node['meta'] = { $status: `${'a'.repeat(50)}!` };
        draft.message = draft.message.replace('Uwf-Status: aaa', `Uwf-Status: ${'a'.repeat(50)}!`);
      });
    });
    const tip = this.#remote.refMap.get(parseRefName('refs/workflows/loop'))!;
    this.#expect('refs/workflows/another', tip, /it is the workflow 'loop', not 'another'/);
  }

  addRefs(garbageRefs: number): void {
    const remote = this.#remote;
    const blob = store(remote, 'blob', 'no commit\n');
    const tree = storeTree(remote, [['100644', 'a', blob]]);
    const who = 'A U Thor <author@example.com> 1795262400 +0000';
    const commit = store(remote, 'commit', `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\nno thread\n`);
    const tag = store(remote, 'tag', `object ${commit}\ntype commit\ntag t\ntagger ${who}\n\nno thread\n`);
    this.#expect('refs/threads/01KTWEWZ760000000000000BB0', blob, /it is a blob, not a commit/);
    this.#expect('refs/threads/01KTWEWZ760000000000000BB1', tree, /it is a tree, not a commit/);
    this.#expect('refs/threads/01KTWEWZ760000000000000BB2', tag, /it is a tag, not a commit/);
    for (let number = 0; number < garbageRefs; number++) {
      const id = `01KTWEWZ76${number.toString().padStart(16, '0')}`;
      this.#expect(`refs/threads/${id}`, commit, /no index|its tree has to have one of/);
    }
    for (const [name, id] of [...remote.refMap].slice(0, 3)) {
      if (name.startsWith('refs/threads/'))
        this.#expect(
          `refs/threads/7ZZZZZZZZZ${id
            .slice(0, 16)
            .toUpperCase()
            .replaceAll(/[ILOU]/g, '0')}`,
          id,
          /more than 30 days from now/,
        );
    }
  }

  /** A run of a workflow with one step, whose text may be what a rule gets lost in. */
  async #runOf(
    workflow: WorkflowDefinition,
    text = 'text',
    meta: StepDraft['meta'] = { $status: 'done' },
  ): Promise<ThreadState> {
    const batch = new ObjectBatch();
    const agents = { writer: { name: 'robot', package: 'builtin:scripted', version: '1.0.0', config: {} } };
    const stored = writeWorkflowTree(batch, workflow);
    const state = await startThread(this.#remote, batch, { workflow: stored, prompt: 'Write.', agents });
    const first = await appendStep(this.#remote, state, stepDraft({ text, meta }));
    const isChecked = workflow.roles === loop.roles;
    const last = isChecked
      ? await appendStep(this.#remote, first, stepDraft({ role: 'checker', rule: 1, meta }))
      : first;
    this.#drop(last);
    return last;
  }

  /** A step that recorded these files. */
  async #workspace(tree: ObjectId, reason: RegExp): Promise<void> {
    await this.#thread(reason, async (state) => {
      const { head } = await appendStep(this.#remote, state, stepDraft({ workspace: { tree, objects: [] } }));
      return head.id;
    });
  }

  /** A thread whose only step was forged. */
  #step(reason: RegExp, change: (draft: Draft) => void): Promise<void> {
    return this.#thread(reason, async (state) => {
      const { head } = await appendStep(this.#remote, state, stepDraft());
      return forge(this.#remote, head.id, change);
    });
  }

  async #thread(reason: RegExp, make: (state: ThreadState) => Promise<ObjectId>): Promise<void> {
    const state = await startLoop(this.#remote);
    this.#expect(`refs/threads/${state.id}`, await make(state), reason);
  }

  #drop(state: ThreadState): void {
    this.#remote.refMap.delete(parseRefName(`refs/threads/${state.id}`));
  }

  #expect(name: string, id: ObjectId, reason: RegExp): void {
    this.#remote.refMap.set(parseRefName(name), parseObjectId(id));
    this.#reasons.set(name, reason);
  }
}

/** Two roles, and a condition before the second. */
function workflowOf(when: string): WorkflowDefinition {
  const rules: Rule[] = [
    { from: '__start__', to: 'writer', when: null },
    { from: 'writer', to: 'checker', when },
    { from: 'writer', to: 'checker', when: null },
    { from: 'checker', to: '__end__', when: null },
  ];
  return { ...loop, moderator: rules };
}
