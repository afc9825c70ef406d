import { renderGraph } from '../../../workflow/graph/render-graph.ts';
import { resolveWorkflow } from '../../../workflow/load/resolve-workflow.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';
import { harmless } from '../../output/width.ts';

const formats = ['text', 'mermaid', 'dot'] as const;

export const workflowGraphCommand: Command = defineCommand({
  arguments: [{ name: 'workflow', summary: 'a name, a file or a hash', candidates: 'workflow' }],
  options: {
    format: {
      short: 'f',
      value: '<format>',
      summary: `one of ${formats.join(', ')}; by default text`,
      candidates: formats,
    },
  },
  examples: [
    { command: 'uwf workflow graph develop', comment: 'in the terminal' },
    { command: 'uwf workflow graph develop -f mermaid', comment: 'for a Markdown file' },
    { command: 'uwf workflow graph develop -f dot | dot -Tsvg', comment: 'with Graphviz' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const { definition } = await resolveWorkflow(repository, args.workflow, { cwd: cli.cwd });
    const format = formats.find((name) => name === options.format) ?? 'text';
    await out.result({}, () => harmless(renderGraph(definition, format)));
  },
});
