import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, UwfError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import { MAX_TIMER_MS } from '../../time/clock.ts';
import { hasListedTools, toolsMissing } from '../acp/open-session.ts';
import { AgentMissing, AgentNotAuthorized } from '../agent-errors.ts';
import { programOfCommand } from '../command/command-agent.ts';
import type { Agent, AgentEvent, AgentReply, AgentRequest, Usage } from '../contract.ts';
import { extractReply } from '../extract/extract-reply.ts';
import { formatInstruction } from '../extract/format-instruction.ts';
import { formatUsage } from '../format-usage.ts';
import { findProgram, programNotFound } from '../processes/start-program.ts';
import type { AgentBinding } from './agent-binding.ts';
import { createConfiguredAgent } from './load-agent.ts';

/** What is looked at, in this order. */
const agentChecks = [
  'found',
  'version',
  'authenticated',
  'structured output',
  'usage',
  'uwf tools',
  'session resume',
] as const;

type AgentCheck = {
  check: (typeof agentChecks)[number];
  outcome: 'ok' | 'failed' | 'not applicable';
  /** What was found, or why not. */
  detail: string;
  /** What to try, where it failed. */
  hint?: string;
};

type HandshakeOptions = {
  /** Where packages are looked for; absolute. */
  resolveFrom: string;
  /** The thread of the turns, with its role, store and environment. */
  thread: { id: string } & Pick<AgentRequest, 'role' | 'cas' | 'env'>;
  /** How long each of the two turns may take. */
  timeoutMs: number;
  /** Says which limits do not hold for an agent that reports this usage, if any. */
  unkept: (usage: Usage | null) => { text: string; hint: string; isRefused: boolean } | undefined;
  signal: AbortSignal;
};

const schema: JsonObject = {
  type: 'object',
  properties: { $status: { type: 'string', minLength: 1 }, word: { type: 'string' } },
  required: ['$status'],
};

/** Kinds that take no turn by themselves, and why. */
const withoutTurn: Readonly<Record<string, string>> = {
  'builtin:human': 'it is a person',
  'builtin:scripted': 'it says what its script says',
  'builtin:workflow': 'it is a workflow; its roles have agents of their own',
};

/** Where the agent works and the folder of the step, both in a temporary folder. */
type Folders = { cwd: string; stepDir: string };

/**
 * Shakes hands with a configured agent: loads it, has it take a turn in which it does nothing but reply, and, where it
 * keeps a session, another one that needs to remember the first. It works in an empty folder, and offers its model no tool but
 * the one that reports the result.
 *
 * Never throws what an agent does wrong: that is what it tells.
 */
export async function testAgent(binding: AgentBinding, options: HandshakeOptions): Promise<AgentCheck[]> {
  const checks = new Checks();
  let agent: Agent;
  let asksModel = false;
  try {
    const made = await createConfiguredAgent(binding, options);
    agent = made.agent;
    asksModel = made.reports !== undefined;
    checks.ok('found', binding.package);
    checks.ok('version', made.record.version);
  } catch (error) {
    checks.failed('found', error);
    return checks.all('it was not found');
  }
  const reason = withoutTurn[binding.package];
  if (reason !== undefined) return checks.all(reason);
  if (agent.answers !== true) {
    if (binding.package === 'builtin:command') checkProgram(binding.config, checks, options);
    return checks.all('it was not made to be asked, and was not run');
  }
  const folder = await mkdtemp(join(tmpdir(), 'uwf-handshake-'));
  const folders: Folders = { cwd: join(folder, 'work'), stepDir: join(folder, 'step') };
  try {
    for (const path of Object.values(folders)) await mkdir(path);
    await writeFile(join(folders.stepDir, 'schema.json'), JSON.stringify(schema));
    const isGivenTools = binding.package === 'builtin:acp' && binding.config['mcp'] !== false;
    if (!isGivenTools) checks.notApplicable('uwf tools', "it is not given uwf's MCP server");
    await shakeHands(agent, checks, { ...options, ...folders, isGivenTools });
    if (asksModel) return checks.all('it was not reached');
    for (const check of ['authenticated', 'usage'] as const) checks.notApplicable(check, 'it is a program of your own');
  } finally {
    await agent.close?.();
    await rm(folder, { recursive: true, force: true });
  }
  return checks.all('it was not reached');
}

/** Looks for a program that is not run. */
function checkProgram(config: JsonObject, checks: Checks, { thread, resolveFrom: cwd }: HandshakeOptions): void {
  const { program, path = thread.env['PATH'] ?? '' } = programOfCommand(config);
  const found = findProgram(program, cwd, path);
  if (found !== undefined) return checks.ok('found', found);
  checks.failed('found', programNotFound(program, { cwd, path }));
}

async function shakeHands(
  agent: Agent,
  checks: Checks,
  options: HandshakeOptions & Folders & { isGivenTools: boolean },
): Promise<void> {
  // A word that no agent knows but from the first turn.
  const word = `w${Math.random().toString(36).slice(2, 10)}`;
  const instruction = await formatInstruction(schema);
  const { timeoutMs, signal } = options;
  let usage: Usage | null = null;
  const emit = (event: AgentEvent): void => {
    if (event.kind === 'usage') ({ usage } = event);
  };
  /** Takes one turn; what it fails with is noted. */
  const ask = async (task: string, session?: string): Promise<AgentReply | undefined> => {
    const prompt = `${instruction}\n# Task\n\n${task} Use no tools and change nothing.\n`;
    const clock = new AbortController();
    const giveUp = (): void => clock.abort(new Error(`it did not answer within ${timeoutMs / 1000} s`));
    const timer = setTimeout(giveUp, Math.min(timeoutMs, MAX_TIMER_MS));
    try {
      const stopped = AbortSignal.any([signal, clock.signal]);
      return await agent.run({ ...requestOf(options, { prompt, session, signal: stopped }), emit });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AgentMissing) checks.failed('found', error);
      else if (error instanceof AgentNotAuthorized) checks.failed('authenticated', error);
      else checks.failed(session === undefined ? 'structured output' : 'session resume', error);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  };

  const first = await ask(`This is a test of the connection. Remember the word ${word}. Reply with the $status ready.`);
  if (first === undefined) return;
  if (first.kind !== 'reply') return checks.failed('structured output', first.reason);
  checks.ok('authenticated', 'it takes turns');
  if (first.agentVersion !== undefined) checks.ok('version', first.agentVersion);
  if (options.isGivenTools && hasListedTools(options.stepDir)) checks.ok('uwf tools', "it takes uwf's MCP server");
  else if (options.isGivenTools) checks.failed('uwf tools', toolsMissing(first.agentVersion));
  const said = await extractReply(first.text, schema, first.meta);
  if (said.kind === 'ok') checks.ok('structured output', first.meta === undefined ? 'front matter' : 'reported apart');
  else checks.failed('structured output', said.kind === 'invalid' ? said.errors.join('; ') : said.reason);
  checks.usage(first.usage ?? usage, options.unkept);
  if (first.session === undefined) return checks.notApplicable('session resume', 'it keeps no session');

  const question = 'Which word were you to remember? Reply with it as word, and the $status ready.';
  const second = await ask(question, first.session);
  if (second === undefined) return;
  if (second.kind !== 'reply') return checks.failed('session resume', second.reason);
  const remembers = `${second.text} ${JSON.stringify(second.meta ?? {})}`.includes(word);
  if (remembers) checks.ok('session resume', 'it remembers');
  else checks.failed('session resume', 'it does not remember the turn before; prompts carry the context instead');
}

function requestOf(
  { cwd, stepDir, thread: { id: threadId, ...thread } }: HandshakeOptions & Folders,
  turn: Pick<AgentRequest, 'prompt' | 'session' | 'signal'>,
): Omit<AgentRequest, 'emit'> {
  const noSteps = (): Promise<never> => Promise.reject(new Error('a test of an agent has no steps'));
  return {
    ...turn,
    ...thread,
    threadId,
    promptWithoutSession: turn.prompt,
    task: turn.prompt,
    edgePrompt: undefined,
    cwd,
    stepDir,
    outputSchema: schema,
    attempt: 0,
    visit: turn.session === undefined ? 0 : 1,
    answer: undefined,
    env: { ...thread.env, UWF_STEP_DIR: stepDir },
    withoutTools: true,
    readThread: noSteps,
    runChild: noSteps,
    askPerson: undefined,
  };
}

/** What was found out so far; the last word about a thing counts. */
class Checks {
  readonly #known = new Map<AgentCheck['check'], AgentCheck>();

  ok(check: AgentCheck['check'], detail: string): void {
    this.#known.set(check, { check, outcome: 'ok', detail });
  }

  failed(check: AgentCheck['check'], error: unknown): void {
    const hint = error instanceof UwfError ? error.hint : undefined;
    const detail = messageOf(error);
    this.#known.set(check, { check, outcome: 'failed', detail, ...(hint !== undefined && { hint }) });
  }

  /** What the agent has reported that it used, and whether the limits hold for it. */
  usage(usage: Usage | null, unkept: HandshakeOptions['unkept']): void {
    const check = 'usage';
    const passed = unkept(usage);
    if (passed !== undefined) {
      const { text: detail, hint, isRefused } = passed;
      this.#known.set(check, { check, outcome: isRefused ? 'failed' : 'not applicable', detail, hint });
      return;
    }
    const { inputTokens = 0, outputTokens = 0, costUsd } = usage ?? {};
    const isSilent = inputTokens + outputTokens === 0 && costUsd === undefined;
    if (isSilent) this.notApplicable(check, 'it reports neither tokens nor cost');
    else this.ok(check, `${formatUsage(usage)}${costUsd === undefined ? ', no cost' : ''}`);
  }

  notApplicable(check: AgentCheck['check'], detail: string): void {
    this.#known.set(check, { check, outcome: 'not applicable', detail });
  }

  /** All checks in their order; `reason` is why the others were not made. */
  all(reason: string): AgentCheck[] {
    return agentChecks.map((check) => this.#known.get(check) ?? { check, outcome: 'not applicable', detail: reason });
  }
}
