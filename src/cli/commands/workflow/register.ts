import { cleanDefinition } from '../../../engine/verbs/start.ts';
import { nothingForDataError } from '../../../thread/thread-errors.ts';
import { resolveWorkflow } from '../../../workflow/load/resolve-workflow.ts';
import { findWorkflow, registerWorkflow, removeWorkflow } from '../../../workflow/registry/find-workflow.ts';
import { type Command, defineCommand } from '../../command-line/command.ts';
import { redactionHere, sayTaken } from '../../open/open-config.ts';
import { openForWriting } from '../../open/open-repository.ts';

export const workflowAddCommand: Command = defineCommand({
  description: `Stores a workflow at refs/workflows/<name>, as a commit on top of the version before. A registered workflow can be run from
anywhere in the repository, bare ones included, and travels with push and fetch. Registering the newest version again changes
nothing.`,
  arguments: [{ name: 'workflow', summary: 'a file, or a name in .uwf/workflows/', candidates: 'file' }],
  json: {
    name: 'its name',
    hash: "the definition's hash",
    ref: 'where it is registered',
    head: 'the commit of this version',
  },
  examples: [{ command: 'uwf workflow add .uwf/workflows/develop.yaml', comment: 'print the hash of the definition' }],
  async run({ args, cli, out }) {
    const repository = await openForWriting(cli);
    const { definition } = await resolveWorkflow(repository, args.workflow, { cwd: cli.cwd });
    const redaction = await redactionHere(cli, repository);
    const hash = await registerWorkflow(repository, await cleanDefinition(redaction, definition));
    sayTaken(cli, redaction);
    const registered = await findWorkflow(repository, definition.name);
    const { name } = definition;
    await out.result({ name, hash, ref: registered?.ref ?? null, head: registered?.commit ?? null }, () => hash);
    out.hint(`'uwf run ${name} -p <prompt>' runs it`);
  },
});

export const workflowRmCommand: Command = defineCommand({
  description: `Removes refs/workflows/<name> with all its versions. Threads have their own copy of the definition and go on; files in
.uwf/workflows/ are not touched.`,
  arguments: [{ name: 'name', summary: "the workflow's name", candidates: 'workflow' }],
  json: { name: 'its name', head: 'the commit of its newest version' },
  examples: [{ command: 'uwf workflow rm develop', comment: 'say which commit it was, to bring it back' }],
  async run({ args, cli, out }) {
    const repository = await openForWriting(cli);
    // What cannot be read can be removed all the same.
    const registered = await findWorkflow(repository, args.name).catch(nothingForDataError);
    await removeWorkflow(repository, args.name);
    const was = registered === undefined ? '' : ` (was ${registered.commit})`;
    const result = { name: args.name, head: registered?.commit ?? null };
    await out.result(result, () => `removed ${out.paint.name(args.name)}${was}`);
  },
});
