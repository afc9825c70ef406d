import { serveMcp } from '../../mcp/serve-mcp.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { readVersion } from '../version.ts';
import { redactionHere } from '../open/open-config.ts';
import { openForWriting } from '../open/open-repository.ts';

export const mcpCommand: Command = defineCommand({
  description: `Speaks the Model Context Protocol on stdin and stdout until stdin ends: tools to list and read threads,
steps and nodes, to put artifacts, and to learn of the calling thread. If UWF_THREAD is set, as in a turn, the tools reach
that thread, its callers and its children only, and put nodes into that thread only. Without it they read everything that
the command line reads. Under $UWF_STEP_DIR an agent reports its structured result with the tool 'report_result', whose
input is the role's schema.

uwf gives this server to agents that speak ACP.`,
  options: { 'result-only': { summary: "offer the tool 'report_result' alone" } },
  examples: [
    { command: 'uwf mcp', comment: 'what an MCP client starts' },
    { command: 'uwf -C ~/project mcp', comment: 'the same for the runs of another folder' },
  ],
  async run({ options, cli }) {
    const repository = await openForWriting(cli);
    const redaction = await redactionHere(cli, repository);
    const context = {
      repository,
      thread: cli.env['UWF_THREAD'] || undefined,
      stepDir: cli.env['UWF_STEP_DIR'] || undefined,
      isResultOnly: options['result-only'],
      redaction: () => redaction.part(),
      version: readVersion(),
    };
    const streams = { incoming: cli.stdin, write: (text: string) => cli.stdout.write(text) };
    await serveMcp(context, streams, cli.signal);
  },
});
