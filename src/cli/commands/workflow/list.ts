import { relative } from 'node:path';
import { prepareHashing } from '../../../cas/hash.ts';
import type { Repository } from '../../../git/repository.ts';
import type { WorkflowDefinition } from '../../../workflow/definition.ts';
import { listWorkflows } from '../../../workflow/registry/find-workflow.ts';
import { listWorkflowFiles, loadWorkflowFile, rootOf } from '../../../workflow/load/resolve-workflow.ts';
import { SourceUnreadable } from '../../../workflow/source/read-source.ts';
import { encodeWorkflow } from '../../../workflow/nodes.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';

type Row = { name: string; hash: string | null; description: string; origin: string; problem: string | null };

export const workflowListCommand: Command = defineCommand({
  description: `Lists the files in .uwf/workflows/ here and in the folders above, and the registered workflows. If a name is
both, 'uwf run <name>' uses the file.`,
  json: {
    name: 'its name',
    hash: "the definition's hash; null where it cannot be read",
    description: 'what it is for',
    origin: "the file, or 'registered'",
    problem: 'why it cannot be read, or null',
  },
  examples: [{ command: 'uwf workflow list', comment: 'what there is to run' }],
  async run({ cli, out }) {
    const repository = await openForReading(cli);
    await prepareHashing();
    const rows: Row[] = [];
    for (const { name, file } of await listWorkflowFiles(repository, cli.cwd)) {
      const origin = relative(cli.cwd, file);
      const { definition, problem } = await readDefinition(repository, file);
      const hash = definition ? encodeWorkflow(definition).hash : null;
      rows.push({ name, hash, description: definition?.description ?? '', origin, problem });
    }
    const { workflows, unreadable } = await listWorkflows(repository);
    for (const { name, hash, description } of workflows) {
      rows.push({ name, hash, description, origin: 'registered', problem: null });
    }
    for (const { name, problem } of unreadable) {
      rows.push({ name, hash: null, description: '', origin: 'registered', problem: problem.message });
    }
    await out.table<Row>(rows, [
      { title: 'NAME', cell: ({ name }) => name, paint: out.paint.name },
      { title: 'HASH', cell: ({ hash }) => hash ?? '', paint: out.paint.id },
      { title: 'FROM', cell: ({ origin }) => origin, paint: out.paint.quiet },
      {
        title: 'DESCRIPTION',
        cell: ({ description, problem }) => (problem === null ? description : `not valid: ${problem}`),
        paint: (text, { problem }) => (problem === null ? text : out.paint.error(text)),
      },
    ]);
    if (rows.length > 0) return;
    const isBare = repository.location?.workTree === undefined;
    const way = isBare
      ? "'uwf workflow add <file>' registers one"
      : "'uwf init --with find-regression' brings one that works as it is";
    out.hint(`there is none yet; ${way}`);
  },
});

/** One file that cannot be read does not hide the others. */
async function readDefinition(
  repository: Repository,
  file: string,
): Promise<{ definition?: WorkflowDefinition | undefined; problem: string | null }> {
  try {
    const { definition, diagnostics } = await loadWorkflowFile(file, rootOf(repository, file));
    return { definition, problem: diagnostics.find(({ severity }) => severity === 'error')?.message ?? null };
  } catch (error) {
    if (!(error instanceof SourceUnreadable)) throw error;
    return { problem: error.message };
  }
}
