import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { judgeJoin, type TakenBranch } from '../../src/moderator/branches.ts';
import { loadWorkflowFile } from '../../src/workflow/load/resolve-workflow.ts';

const folder = fileURLToPath(new URL('../../fixtures/workflows/', import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

type Configuration = { agents: Record<string, { config: { argv?: string[] } }>; roles: Record<string, string> };

describe('the shipped workflows', () => {
  test.each(files)('%s has no mistakes and nothing to warn of', async (file) => {
    const { definition, diagnostics } = await loadWorkflowFile(folder + file);
    expect(diagnostics).toEqual([]);
    expect(`${definition?.name}.yaml`).toBe(file);
  });

  test.each(['find-regression', 'solve-issue'])(
    'the configuration of %s binds roles that it has to what is there',
    async (name) => {
      const { definition } = await loadWorkflowFile(`${folder}${name}.yaml`);
      const { agents, roles } = parse(readFileSync(`${folder}${name}/config.yaml`, 'utf8')) as Configuration;
      for (const [role, agent] of Object.entries(roles)) {
        expect(Object.keys(definition!.roles).map((known) => `${name}.${known}`)).toContain(role);
        expect(Object.keys(agents)).toContain(agent);
      }
      const programs = Object.values(agents).flatMap(({ config }) => config.argv?.slice(1) ?? []);
      const shipped = readdirSync(`${folder}${name}`).map((file) => `.uwf/workflows/${name}/${file}`);
      expect(shipped).toEqual(expect.arrayContaining(programs));
    },
  );
});

test('of the reviewers of parallel-review two that agree decide, in whatever order they end', async () => {
  const { definition } = await loadWorkflowFile(`${folder}parallel-review.yaml`);
  const reviews = definition!.blocks!['reviews']!;
  const keys = Object.keys(reviews.branches ?? {});
  const verdicts = ['approved', 'rejected', null];
  const votes = verdicts.flatMap((a) => verdicts.flatMap((b) => verdicts.map((c) => [a, b, c])));
  for (const vote of votes) {
    const taken = vote.map((status, at): TakenBranch => {
      const [outcome, returnCode] = status === null ? (['failed', 1] as const) : (['completed', 0] as const);
      return { key: keys[at] ?? '', status, meta: null, end: { outcome, returnCode, summary: '' } };
    });
    const judged = await Promise.all(
      keys.map((_, at) => judgeJoin('reviews', reviews, taken.slice(0, at + 1), keys.length)),
    );
    const decided = judged.findIndex(({ kind }) => kind === 'over');
    const agreed = ['approved', 'rejected'].find((verdict) => vote.filter((one) => one === verdict).length >= 2);
    expect(judged[decided], vote.join()).toMatchObject({ status: agreed ?? 'failed', isJoined: agreed !== undefined });
    const second = vote.indexOf(agreed ?? '', vote.indexOf(agreed ?? '') + 1);
    expect(decided, vote.join()).toBe(agreed === undefined ? keys.length - 1 : second);
  }
});
