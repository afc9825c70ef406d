import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineCommand, type Command } from '../command.ts';
import { NEW_CONFIG, mergeConfig } from '../init/merge-config.ts';
import { readShipped, shippedNames } from '../init/shipped-workflows.ts';
import { openToRead } from '../open-repository.ts';
import { UsageError } from '../usage-error.ts';

const CONFIG = '.uwf/config.yaml';
const WORKFLOWS = '.uwf/workflows';

type FilePlan = { path: string; bytes: Uint8Array };

export const command: Command = defineCommand({
  summary: 'prepare this repository for workflows',
  description: `Makes .uwf/config.yaml, where agents are bound to roles, and .uwf/workflows/, where workflows lie. With --with a workflow
that comes with uwf is copied there, with its programs and with the configuration lines that bind its roles. Nothing that
exists is changed but for lines added to the configuration, and nothing is committed.

Everything works without this command too.`,
  arguments: [],
  options: {
    with: { value: '<workflow>', summary: 'copy a workflow that comes with uwf' },
  },
  json: {
    shape: 'object',
    fields: {
      created: 'files that were written',
      unchanged: 'files that were there, as they would have been written',
      configured: 'what was added to .uwf/config.yaml',
      kept: 'what .uwf/config.yaml says otherwise already, and was left',
    },
  },
  examples: [
    { command: 'uwf init', comment: 'an empty configuration, with an example in comments' },
    { command: 'uwf init --with find-regression', comment: 'a workflow that works as it is' },
  ],
  async run({ options, cli, out }) {
    const { location } = await openToRead(cli);
    const top = location?.workTree;
    if (top === undefined) {
      throw new UsageError(
        'a bare repository has no work tree to prepare',
        "register workflows with 'uwf workflow add', and bind agents in uwf/config.yaml of the git folder",
      );
    }
    const shipped = options.with === undefined ? [] : await readShipped(options.with);
    const files = shipped.flatMap((workflow) =>
      workflow.files.map(({ path, bytes }): FilePlan => ({ path: `${WORKFLOWS}/${path}`, bytes })),
    );
    const isThere = ({ path, bytes }: FilePlan): boolean =>
      existsSync(join(top, path)) && readFileSync(join(top, path)).equals(bytes);
    const unchanged = files.filter(isThere);
    const missing = files.filter((file) => !unchanged.includes(file));
    const other = missing.find(({ path }) => existsSync(join(top, path)));
    // Before anything is written: half a workflow helps nobody.
    if (other)
      throw new UsageError(
        `${other.path} is there already, and is something else`,
        'move it away, or rename it, and repeat',
      );

    const isNew = !existsSync(join(top, CONFIG));
    const before = isNew ? NEW_CONFIG : readFileSync(join(top, CONFIG), 'utf8');
    let text = before;
    const configured: string[] = [];
    const kept: string[] = [];
    for (const { config } of shipped) {
      const merged = await mergeConfig(text, config);
      text = merged.text;
      configured.push(...merged.added);
      kept.push(...merged.kept);
    }
    mkdirSync(join(top, WORKFLOWS), { recursive: true });
    for (const { path, bytes } of missing) {
      mkdirSync(dirname(join(top, path)), { recursive: true });
      writeFileSync(join(top, path), bytes);
    }
    if (isNew || text !== before) writeFileSync(join(top, CONFIG), text);

    const created = [...(isNew ? [CONFIG] : []), ...missing.map(({ path }) => path)];
    const value = { created, unchanged: unchanged.map(({ path }) => path), configured, kept };
    await out.result(value, () =>
      [
        ...created.map((path) => `created  ${path}`),
        ...(isNew || configured.length === 0 ? [] : [`changed  ${CONFIG}: ${configured.join(', ')}`]),
        ...unchanged.map(({ path }) => `as it is ${path}`),
        ...kept.map((where) => `kept     ${where} in ${CONFIG}: it says something else`),
        ...(created.length + configured.length + unchanged.length + kept.length === 0
          ? ['everything is there already']
          : []),
      ].join('\n'),
    );
    out.hint(
      options.with === undefined
        ? `'uwf init --with <workflow>' brings one along: ${shippedNames().join(', ')}`
        : `read ${WORKFLOWS}/${options.with}.yaml to see what it does, then: uwf run ${options.with} -p <prompt>`,
    );
    return undefined;
  },
});
