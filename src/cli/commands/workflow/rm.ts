import { findWorkflow, removeWorkflow } from '../../../workflow/registry/find-workflow.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { nothingForDataError } from '../../../thread/thread-errors.ts';

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
