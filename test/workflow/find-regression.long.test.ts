import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { extractReply } from '../../src/agent/extract/extract-reply.ts';
import { decide, type Decision } from '../../src/moderator/decide.ts';
import type { StepView } from '../../src/thread/step-view.ts';
import { loadWorkflowFile } from '../../src/workflow/load/resolve-workflow.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
  type TemporaryRepository,
} from '../helpers/temporary-repository.ts';

const folder = fileURLToPath(new URL('../../fixtures/workflows/', import.meta.url));
const { definition } = await loadWorkflowFile(`${folder}find-regression.yaml`);
const programs: Record<string, string> = { picker: 'pick', runner: 'try', judge: 'judge', reporter: 'report' };

type Run = { decision: Exclude<Decision, { kind: 'role' }>; steps: StepView[] } | { suspended: string };

/** Runs the workflow as the engine does, without storing anything. */
async function run(repository: TemporaryRepository, prompt: string, answer = ''): Promise<Run> {
  const steps: StepView[] = [];
  const worktrees = createTemporaryFolder();
  for (;;) {
    const start = { prompt, workflow: 'find-regression', depth: 0, startedAtMs: 0 };
    const decision = await decide(definition!.moderator, { threadId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', start, steps });
    if (decision.kind !== 'role') {
      expect(readdirSync(worktrees)).toEqual([]);
      return { decision, steps };
    }
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [`${folder}find-regression/${programs[decision.role]}.mjs`],
      {
        cwd: repository.dir,
        input: `# The task\n\n${prompt}\n\n# What to do now\n\n${decision.prompt}\n\n${answer}`,
        env: { ...isolatedGitEnvironment, TMPDIR: worktrees },
        encoding: 'utf8',
      },
    );
    expect(stderr).toBe('');
    const reply = await extractReply(stdout, definition!.roles[decision.role]!.schema);
    if (reply.kind === 'suspend') return { suspended: reply.reason };
    if (reply.kind !== 'ok') throw new Error(reply.errors.join('; '));
    steps.push({
      role: decision.role,
      meta: reply.meta,
      output: reply.meta,
      text: reply.body,
      hash: '',
      status: typeof reply.meta['$status'] === 'string' ? reply.meta['$status'] : null,
      agent: 'command',
      usage: null,
      startedAtMs: 0,
      completedAtMs: 0,
    });
  }
}

/** Commits a file `state` with these contents, one commit each; their ids. */
function commitStates(repository: TemporaryRepository, states: readonly string[]): string[] {
  return states.map((state) => {
    spawnSync('sh', ['-c', `printf '%s' "$0" > state`, state], { cwd: repository.dir });
    repository.git('add', 'state');
    repository.git('commit', '--quiet', '--allow-empty', '-m', `State ${state}`);
    return repository.git('rev-parse', 'HEAD');
  });
}

/** Fails on `bad…`, cannot test `skip…`. */
const testCommand = `case "$(cat state)" in bad*) exit 1;; skip*) exit 125;; esac`;

function nothingLeft(repository: TemporaryRepository): void {
  expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(repository.git('status', '--porcelain')).toBe('');
  expectCleanFsck(repository.dir);
}

describe('find-regression', () => {
  test('finds the first bad commit in a number of tries that grows as the logarithm', async () => {
    const repository = createTemporaryRepository();
    const states = Array.from({ length: 20 }, (_, index) => (index < 13 ? `good ${index}` : `bad ${index}`));
    const commits = commitStates(repository, states);
    const result = await run(repository, `test: ${testCommand}\ngood: ${commits[0]}\nbad: HEAD`);
    expect(result).toMatchObject({ decision: { kind: 'end', returnCode: 0 } });
    if (!('steps' in result)) return;
    expect(result.steps.at(-1)!.meta).toMatchObject({ $status: 'found', firstBad: commits[13] });
    expect(result.steps.filter(({ role }) => role === 'runner').length).toBeLessThanOrEqual(2 + 5);
    nothingLeft(repository);
  });

  test('finds it on a side branch that was merged', async () => {
    const repository = createTemporaryRepository();
    const [good] = commitStates(repository, ['good 0', 'good 1']);
    const main = repository.git('symbolic-ref', '--short', 'HEAD');
    repository.git('checkout', '--quiet', '-b', 'side');
    const side = commitStates(repository, ['good side', 'bad side', 'bad side 2']);
    repository.git('checkout', '--quiet', main);
    repository.git('commit', '--quiet', '--allow-empty', '-m', 'Meanwhile');
    repository.git('merge', '--quiet', '--no-ff', '-m', 'Merge', 'side');
    const result = await run(repository, `test: ${testCommand}\ngood: ${good}`);
    expect(result).toMatchObject({ decision: { kind: 'end', returnCode: 0 } });
    if ('steps' in result) expect(result.steps.at(-1)!.meta['firstBad']).toBe(side[1]);
    nothingLeft(repository);
  });

  test('goes round commits that cannot be tested', async () => {
    const repository = createTemporaryRepository();
    const commits = commitStates(repository, [
      'good 0',
      'skip 1',
      'good 2',
      'skip 3',
      'good 4',
      'bad 5',
      'skip 6',
      'bad 7',
    ]);
    const result = await run(repository, `test: ${testCommand}\ngood: ${commits[0]}`);
    if ('steps' in result) expect(result.steps.at(-1)!.meta).toMatchObject({ firstBad: commits[5] });
    nothingLeft(repository);
  });

  test('names all that are left when those between cannot be tested', async () => {
    const repository = createTemporaryRepository();
    const commits = commitStates(repository, ['good 0', 'good 1', 'skip 2', 'skip 3', 'bad 4']);
    const result = await run(repository, `test: ${testCommand}\ngood: ${commits[0]}`);
    expect(result).toMatchObject({ decision: { kind: 'end', returnCode: 2 } });
    if (!('steps' in result)) return;
    expect(new Set(result.steps.at(-1)!.meta['candidates'] as string[])).toEqual(new Set(commits.slice(2)));
    nothingLeft(repository);
  });

  test('a setup that fails makes a commit untestable, and one that works is there for the test', async () => {
    const repository = createTemporaryRepository();
    const commits = commitStates(repository, ['good 0', 'skip 1', 'good 2', 'bad 3', 'bad 4']);
    const prompt = `setup: grep -qv skip state && touch ready\ntest: test -f ready && ! grep -q bad state\ngood: ${commits[0]}`;
    const result = await run(repository, prompt);
    if ('steps' in result) expect(result.steps.at(-1)!.meta).toMatchObject({ firstBad: commits[3] });
    expect(result).toMatchObject({ decision: { returnCode: 0 } });
    nothingLeft(repository);
  });

  test.each([
    ['the bad commit passes', 'true', 'passes the test'],
    ['the good commit fails', 'false', 'fails the test, too'],
    ['the test cannot say anything', 'exit 125', 'cannot be tested'],
    ['the test itself breaks', 'kill -SEGV $$', 'the test itself broke'],
  ])('says that there is nothing to find when %s', async (_name, command, reason) => {
    const repository = createTemporaryRepository();
    const commits = commitStates(repository, ['good 0', 'good 1', 'bad 2']);
    expect(await run(repository, `test: ${command}\ngood: ${commits[0]}`)).toMatchObject({
      decision: { kind: 'end', returnCode: 1, summary: expect.stringContaining(reason) },
    });
    nothingLeft(repository);
  });

  test('says so when the bad commit does not contain the good one, and names what they have in common', async () => {
    const repository = createTemporaryRepository();
    const commits = commitStates(repository, ['good 0', 'good 1']);
    expect(await run(repository, `test: true\ngood: ${commits[1]}\nbad: ${commits[0]}`)).toMatchObject({
      decision: { returnCode: 1, summary: expect.stringMatching(/does not contain .* 'State good 0' in common/) },
    });
  });

  test('asks a person for what is missing, and takes the answer', async () => {
    const repository = createTemporaryRepository();
    const commits = commitStates(repository, ['good 0', 'bad 1']);
    expect(await run(repository, 'it is broken')).toEqual({ suspended: expect.stringContaining('which command') });
    expect(await run(repository, 'test: true')).toEqual({ suspended: expect.stringContaining('which commit') });
    expect(await run(repository, 'test: true\ngood: v9')).toEqual({
      suspended: expect.stringContaining("no commit 'v9'"),
    });
    expect(await run(repository, 'test: ! grep -q bad state', `good: ${commits[0]}`)).toMatchObject({
      decision: { kind: 'end', returnCode: 0 },
    });
  });
});
