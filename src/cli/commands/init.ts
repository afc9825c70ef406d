import { basename, join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import { addFetchRefspecs } from '../../git/transport/open-remote.ts';
import { trackedRefs } from '../../sync/shared-refs.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { UsageError } from '../errors/exit-code.ts';
import {
  CONFIG,
  formatPrepared,
  NOTHING,
  type PreparedFiles,
  prepareFiles,
  shippedNames,
  WORKFLOWS,
} from '../init/prepare-files.ts';
import { configHere } from '../open/open-config.ts';
import { openForReading } from '../open/open-repository.ts';
import { trustsAll, type CliEnvironment } from '../process/cli-environment.ts';
import { Consents } from '../trust/claim.ts';
import { claimsHere } from '../trust/gate.ts';

export const initCommand: Command = defineCommand({
  description: `Creates .uwf/config.yaml, which binds agents to roles, and .uwf/workflows/, the folder of workflows. --with
copies a workflow that comes with uwf, with its programs and with the configuration lines that bind its roles; these are
trusted at once. Schemas for editors go to .uwf/schemas/: the first line of each created file names its schema, and you can
copy it into your own files. Existing files are not changed, except for lines added to the configuration. Nothing is
committed.

With --remote a plain 'git fetch' of that remote brings its threads and workflows too, into refs/uwf/remotes/. Lines are
added to git's configuration of what it fetches; what 'git push' sends does not change. 'uwf fetch' works without these
lines.

This command is optional.`,
  options: {
    with: { value: '<workflow>', summary: 'copy a workflow that comes with uwf', candidates: 'shipped-workflow' },
    remote: {
      value: '<remote>',
      summary: "have 'git fetch' of this remote bring threads too",
      candidates: 'remote',
    },
  },
  json: {
    created: 'files that were written',
    unchanged: 'files that were there, as they would have been written',
    configured: 'what was added to .uwf/config.yaml',
    kept: 'what .uwf/config.yaml sets to something else, and was kept',
    outdated: 'schemas for editors that another version of uwf or another program wrote, and that were kept',
    refspecs: "with --remote, what was added to what 'git fetch' brings",
  },
  examples: [
    { command: 'uwf init', comment: 'an empty configuration, with an example in comments' },
    { command: 'uwf init --with find-regression', comment: 'a workflow that works as it is' },
    { command: 'uwf init --remote origin', comment: "git's own fetch brings threads too" },
  ],
  async run({ options, cli, out }) {
    const repository = await openForReading(cli);
    const { location } = repository;
    const { remote } = options;
    const top = location?.workTree;
    if (top === undefined && (remote === undefined || options.with !== undefined)) {
      const file = join(repository.stateDir ?? '', 'config.yaml');
      const hint = `register workflows with 'uwf workflow add <file>', and bind agents in ${file}`;
      throw new UsageError('a bare repository has no work tree to prepare', hint);
    }
    // Checked before anything is written: half an initialisation is of no use.
    const files = top === undefined ? NOTHING : await prepareFiles(top, options.with);
    let refspecs: string[] | undefined;
    if (remote !== undefined && location !== undefined) {
      refspecs = await addFetchRefspecs({ location, env: cli.env }, remote, trackedRefs(remote));
    }
    files.write();
    if (!trustsAll(cli)) await trustWritten(cli, repository, files);

    const { created, unchanged, configured, kept, outdated } = files;
    await out.result({ created, unchanged, configured, kept, outdated, refspecs }, () => {
      const added = (refspecs ?? []).map((refspec) => `added    remote.${remote}.fetch ${refspec}`);
      return [...formatPrepared(files), ...added].join('\n') || 'everything is there already';
    });
    out.hint(hintFor(options.with, remote));
    for (const path of outdated) out.hint(`uwf schema show --for ${basename(path, '.json')} > ${path}`);
  },
});

/** Agrees to the agents that were just written, and to no other, even if another file declares one of the same name. */
async function trustWritten(cli: CliEnvironment, repository: Repository, { configured }: PreparedFiles): Promise<void> {
  if (!configured.some((name) => name.startsWith('agents.'))) return;
  const config = await configHere(cli, repository);
  const file = join(repository.location?.workTree ?? '', CONFIG);
  const claims = claimsHere(cli, repository, config).filter(
    ({ name, declaredAt }) => configured.includes(name) && declaredAt?.startsWith(`${file}:`),
  );
  if (claims.length > 0) new Consents(cli, repository).add(claims);
}

function hintFor(workflow: string | undefined, remote: string | undefined): string {
  if (workflow !== undefined) {
    return `read ${WORKFLOWS}/${workflow}.yaml to see what it does, then 'uwf run ${workflow} -p <prompt>' runs it`;
  }
  if (remote !== undefined) return `'uwf sync ${remote}' shares threads both ways`;
  return `'uwf init --with <workflow>' brings one along: ${shippedNames().join(', ')}`;
}
