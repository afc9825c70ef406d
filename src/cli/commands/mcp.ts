import { serveMcp } from '../../mcp/serve-mcp.ts';
import { defineCommand, type Command } from '../command.ts';
import { readVersion } from '../help/version.ts';
import { openToWrite } from '../open-repository.ts';
import { redactionHere } from '../redaction-here.ts';

export const command: Command = defineCommand({
  summary: 'serve threads and nodes to agents over MCP',
  description: `Speaks the Model Context Protocol on stdin and stdout until stdin ends: tools to list and read threads, steps and nodes,
to put artifacts, and to learn of the calling thread. Under $UWF_THREAD, as in a turn, they keep to that thread, to those that called
it and to those that it called, and put into no other; without it they read all that the command line reads. Under $UWF_STEP_DIR an
agent reports its structured result with the tool 'report_result', whose input is the role's schema.

Agents that speak ACP are given this server by uwf itself.`,
  arguments: [],
  options: {},
  examples: [
    { command: 'uwf mcp', comment: 'what an MCP client starts' },
    { command: 'uwf -C ~/project mcp', comment: 'the same for the runs of another folder' },
  ],
  async run({ cli }) {
    const repository = await openToWrite(cli);
    const redaction = await redactionHere(cli, repository);
    const context = {
      repository,
      thread: cli.env['UWF_THREAD'] || undefined,
      stepDir: cli.env['UWF_STEP_DIR'] || undefined,
      redaction: () => redaction.part(),
      version: readVersion(),
    };
    const streams = { incoming: cli.stdin, write: (text: string) => cli.stdout.write(text) };
    await serveMcp(context, streams, cli.signal);
  },
});
