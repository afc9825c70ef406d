import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';

import type { AgentEvent, AgentRequest } from '../../src/agent/contract.ts';

/** A request to an agent in a test, and what the agent told meanwhile. */
export type ObservedRequest = AgentRequest & { events: AgentEvent[] };

/** Makes a request that works in an empty folder of its own, removed when the test is over. */
export function agentRequest(changes: Partial<AgentRequest> = {}): ObservedRequest {
  const events: AgentEvent[] = [];
  const folder = temporaryFolder();
  return {
    threadId: '01JD0000000000000000000000',
    role: 'worker',
    prompt: 'Do the work.\n',
    promptWithoutSession: 'Do the work.\n',
    task: 'Do the work.',
    edgePrompt: undefined,
    cwd: folder,
    stepDir: folder,
    outputSchema: { type: 'object' },
    attempt: 0,
    visit: 0,
    session: undefined,
    answer: undefined,
    env: { PATH: process.env['PATH'] ?? '', UWF_ROLE: 'worker' },
    signal: new AbortController().signal,
    emit: (event) => events.push(event),
    cas: memoryCas(),
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

/** The absolute path of a program in `fixtures/agents/`. */
export function fixtureAgent(name: string): string {
  return resolve(import.meta.dirname, '../../fixtures/agents', name);
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
