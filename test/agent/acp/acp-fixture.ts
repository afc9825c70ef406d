import { PassThrough, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { createAgent } from '../../../src/agent/acp/acp-agent.ts';
import type { AgentProgram, startAgent } from '../../../src/agent/acp/acp-connection.ts';
import type { Agent, AgentEvent, AgentReply } from '../../../src/agent/contract.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest, fixtureAgent, type ObservedRequest } from '../../helpers/agent-request.ts';
import { bundledAcpAgent } from '../../helpers/bundled-acp-agent.ts';

/** What a test says of the agent beside its scenarios. A process of its own is for what is about processes, groups and kills. */
type Scripted = { config?: JsonObject; isProcess?: boolean };

/** The scripted agent, told what to do; closed when the test is over. */
export function scriptedAgent(words: readonly string[], { config = {}, isProcess = false }: Scripted = {}): Agent {
  const command = [process.execPath, bundledAcpAgent, ...words];
  const settings = { command, graceMs: 300, mcp: false, ...config };
  const agent = isProcess ? createAgent(settings) : createAgent(settings, startHere);
  onTestFinished(() => agent.close?.());
  return agent;
}

/** One turn of the scripted agent. */
export async function runScripted(
  words: readonly string[],
  { config = {}, isProcess = false, ...changes }: Scripted & Parameters<typeof agentRequest>[0] = {},
): Promise<{ reply: AgentReply; request: ObservedRequest; events: AgentEvent[]; text: string }> {
  const request = agentRequest(changes);
  const reply = await scriptedAgent(words, { config, isProcess }).run(request);
  return { reply, request, events: request.events, text: reply.text ?? '' };
}

/** No system has processes with such numbers. */
let lastGroup = 2 ** 30;

/** Runs the scripted agent in this process: its program is a pair of streams. */
const startHere: typeof startAgent = async ({ argv, env, cwd }): Promise<AgentProgram> => {
  const { runAgent } = (await import(fixtureAgent('scripted-acp.mjs'))) as { runAgent(host: object): Promise<void> };
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let tellEnd = (_outcome: string): void => {};
  const exited = new Promise<string>((resolve) => (tellEnd = resolve));
  const end = (outcome: string): void => {
    tellEnd(outcome);
    stdout.end();
  };
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    // What a process writes after its end goes nowhere.
    if (!stdout.writableEnded) stdout.write(chunk);
    done();
  };
  const host = {
    argv,
    env,
    cwd: () => cwd,
    stdin,
    stdout: new Writable({ write }),
    stderr,
    on: () => {},
    exit: (code: number) => end(`ended with exit code ${code}`),
  };
  void runAgent(host);
  lastGroup += 1;
  return { pgid: lastGroup, stdin, stdout, stderr, exited, end: async () => end('was ended by SIGTERM') };
};

/** The process groups that an agent told of. */
export function groupsOf(events: readonly AgentEvent[]): number[] {
  return events.flatMap((event) => (event.kind === 'process-group' ? [event.pgid] : []));
}

/** The refusals that an agent told of. */
export function refusalsOf(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => (event.kind === 'refusal' ? [event.text] : []));
}
