import { basename, join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import { defineCommand, type Command } from '../command.ts';
import { configHere } from '../config-here.ts';
import type { CliContext } from '../context.ts';
import { CONFIG, WORKFLOWS, formatPrepared, prepareFiles, type PreparedFiles } from '../init/prepare-files.ts';
import { shippedNames } from '../init/shipped-workflows.ts';
import { openToRead } from '../open-repository.ts';
import { trustsAll } from '../trust/trusts-all.ts';
import { UsageError } from '../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'prepare this repository for workflows',
  description: `Makes .uwf/config.yaml, where agents are bound to roles, and .uwf/workflows/, where workflows lie. With --with a workflow
that comes with uwf is copied there, with its programs and with the configuration lines that bind its roles; you need not
agree to these once more. Schemas for editors go to .uwf/schemas/; the first line of each of these files names its own, and can
stand above your own files as well. Nothing that exists is changed but for lines added to the configuration, and nothing is committed.

With --remote git's own 'git fetch' of that remote brings its threads and workflows too, into refs/uwf/remotes/: lines are
added to git's configuration of what is fetched, and none of what 'git push' pushes. 'uwf fetch' works without them.

Everything works without this command too.`,
  arguments: [],
  options: {
    with: { value: '<workflow>', summary: 'copy a workflow that comes with uwf', candidates: 'shipped-workflow' },
    remote: {
      value: '<remote>',
      summary: "have 'git fetch' of this remote bring threads too",
      candidates: 'remote',
    },
  },
  json: {
    shape: 'object',
    fields: {
      created: 'files that were written',
      unchanged: 'files that were there, as they would have been written',
      configured: 'what was added to .uwf/config.yaml',
      kept: 'what .uwf/config.yaml says otherwise already, and was left',
      outdated: 'schemas for editors that another version of uwf wrote, or another program, and that were left',
      refspecs: "with --remote, what was added to what 'git fetch' brings",
    },
  },
  examples: [
    { command: 'uwf init', comment: 'an empty configuration, with an example in comments' },
    { command: 'uwf init --with find-regression', comment: 'a workflow that works as it is' },
    { command: 'uwf init --remote origin', comment: "git's own fetch brings threads too" },
  ],
  async run({ options, cli, out }) {
    const repository = await openToRead(cli);
    const { location } = repository;
    const { remote } = options;
    const top = location?.workTree;
    if (top === undefined && (remote === undefined || options.with !== undefined)) {
      throw new UsageError(
        'a bare repository has no work tree to prepare',
        `register workflows with 'uwf workflow add <file>', and bind agents in ${join(repository.stateDir ?? '', 'config.yaml')}`,
      );
    }
    // Found out before anything is written: half of it helps nobody.
    const files = top === undefined ? undefined : await prepareFiles(top, options.with);
    let refspecs: string[] | undefined;
    if (remote !== undefined && location !== undefined) {
      const [{ addFetchRefspecs }, { fetchRefspecs }] = await Promise.all([
        import('../../git/native/add-fetch-refspecs.ts'),
        import('../../sync/fetch-refspecs.ts'),
      ]);
      refspecs = await addFetchRefspecs(location, cli.env, remote, fetchRefspecs(remote));
    }
    files?.write();
    if (files !== undefined && top !== undefined && !trustsAll(cli)) await trustWritten(cli, repository, files);

    const value = {
      created: files?.created ?? [],
      unchanged: files?.unchanged ?? [],
      configured: files?.configured ?? [],
      kept: files?.kept ?? [],
      outdated: files?.outdated ?? [],
      refspecs,
    };
    await out.result(value, () => {
      const lines = [
        ...(files === undefined ? [] : formatPrepared(files)),
        ...(refspecs ?? []).map((refspec) => `added    remote.${remote}.fetch ${refspec}`),
      ];
      return lines.length === 0 ? 'everything is there already' : lines.join('\n');
    });
    out.hint(hintFor(options.with, remote));
    for (const path of files?.outdated ?? []) out.hint(`uwf schema show --for ${basename(path, '.json')} > ${path}`);
    return undefined;
  },
});

/** Agrees to the agents that were just written; to none that was there, or is another one's of the same name. */
async function trustWritten(cli: CliContext, repository: Repository, { configured }: PreparedFiles): Promise<void> {
  if (!configured.some((name) => name.startsWith('agents.'))) return;
  const [{ claimsHere }, { TrustStore }] = await Promise.all([
    import('../trust/claims-here.ts'),
    import('../trust/trust-file.ts'),
  ]);
  const config = await configHere(cli, repository);
  const file = join(repository.location?.workTree ?? '', CONFIG);
  const claims = claimsHere(cli, repository, config).filter(
    ({ name, declaredAt }) => configured.includes(name) && declaredAt?.startsWith(`${file}:`),
  );
  if (claims.length > 0) new TrustStore(cli, repository).add(claims, cli.now());
}

function hintFor(workflow: string | undefined, remote: string | undefined): string {
  if (workflow !== undefined) {
    return `read ${WORKFLOWS}/${workflow}.yaml to see what it does, then: uwf run ${workflow} -p <prompt>`;
  }
  if (remote !== undefined) return `'uwf sync ${remote}' shares threads both ways`;
  return `'uwf init --with <workflow>' brings one along: ${shippedNames().join(', ')}`;
}
