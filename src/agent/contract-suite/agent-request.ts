import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

import type { AgentEvent, AgentRequest } from '../contract.ts';

/** A request to an agent in a test, and what the agent told meanwhile. */
export type ObservedRequest = AgentRequest & { readonly events: AgentEvent[] };

/**
 * Makes a request for a turn as the engine makes it, for use in a test.
 *
 * The turn works in an empty folder (`cwd`) and has another for itself (`stepDir`), both removed when the test is over. Of
 * the environment it has `PATH` alone; its store is in memory; nothing was said in the
 * thread, no person is at the terminal, and child threads are refused.
 * @param changes what is to be otherwise, as `outputSchema`, `prompt` or `env`
 */
export function agentRequest(changes: Partial<AgentRequest> = {}): ObservedRequest {
  const events: AgentEvent[] = [];
  const folder = temporaryFolder();
  const [cwd, stepDir] = [join(folder, 'work'), join(folder, 'step')];
  for (const part of [cwd, stepDir]) mkdirSync(part);
  return {
    threadId: '01JD0000000000000000000000',
    role: 'worker',
    prompt: 'Do the work.\n',
    promptWithoutSession: 'Do the work.\n',
    task: 'Do the work.',
    edgePrompt: undefined,
    cwd,
    stepDir,
    outputSchema: { type: 'object' },
    attempt: 0,
    visit: 0,
    session: undefined,
    answer: undefined,
    env: { PATH: process.env['PATH'] ?? '', UWF_ROLE: 'worker', UWF_STEP_DIR: stepDir },
    signal: new AbortController().signal,
    emit: (event) => events.push(event),
    cas: memoryCas(),
    readThread: () => Promise.resolve([]),
    runChild: () => Promise.reject(new Error('this request has no child')),
    askPerson: undefined,
    ...changes,
    events,
  };
}

/** An empty folder, removed when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'uwf-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function memoryCas(): AgentRequest['cas'] {
  const texts: string[] = [];
  const hashOf = (index: number): string => `HASH${String(index).padStart(9, '0')}`;
  return {
    put: (text) => {
      const known = texts.indexOf(text);
      return Promise.resolve(hashOf(known === -1 ? texts.push(text) - 1 : known));
    },
    get: (hash) => Promise.resolve(texts.find((_, index) => hashOf(index) === hash)),
    list: () => Promise.resolve(texts.map((_, index) => hashOf(index))),
  };
}
