import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { loadWorkflowFile } from '../../src/workflow/load/load-workflow-file.ts';

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
