import { iso } from '../../time/clock.ts';
import type { Repository } from '../../git/repository.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { personOf, statusOf } from '../../thread/thread-commit.ts';
import { outlineSuspension } from '../../thread/exchange.ts';
import { agentOfMessage, lineOfOutput } from '../../thread/commit-message.ts';
import { type LightCommit, readLightChain, readReply } from '../../thread/thread-chain.ts';
import type { LogEntry } from './log-entry.ts';

/** A log entry with its commit. */
type Logged = { entry: LogEntry; commit: LightCommit };

/** Reads a thread from a commit back to its start, newest first. Reads only as far as the caller iterates. */
export async function* readLog(repository: Repository, from: ObjectId): AsyncGenerator<Logged, void, void> {
  for await (const commit of readLightChain(repository, from)) {
    const entry = await describe(repository, commit);
    const summary = lineOfOutput(commit, entry.text);
    const by = personOf(commit);
    yield { entry: { ...entry, ...(summary !== null && { summary }), ...(by !== undefined && { by }) }, commit };
  }
}

/** Reads the newest entries of a thread's log, newest first. */
export async function readEntries(repository: Repository, from: ObjectId, most: number): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  if (most === 0) return entries;
  for await (const { entry } of readLog(repository, from)) if (entries.push(entry) >= most) break;
  return entries;
}

async function describe(repository: Repository, commit: LightCommit): Promise<LogEntry> {
  const { kind, hash, id } = commit;
  const common = { kind, hash, head: id, role: null, status: null, agent: null, durationMs: null, usage: null };
  switch (commit.kind) {
    case 'start':
      return { ...common, at: iso(commit.node.startedAtMs), text: await readReply(repository, commit) };
    case 'step': {
      const { role, meta, usage, startedAtMs, completedAtMs } = commit.node;
      return {
        ...common,
        role,
        status: statusOf(meta),
        agent: agentOfMessage(commit.commit.message),
        at: iso(completedAtMs),
        durationMs: completedAtMs - startedAtMs,
        usage,
        text: await readReply(repository, commit),
      };
    }
    case 'suspend': {
      const { suspension: _hash, text, ...outline } = await outlineSuspension(repository, commit);
      const at = iso(commit.node.suspendedAtMs);
      // The record of the agent is mostly at the start, which would have to be read.
      const agent = agentOfMessage(commit.commit.message);
      return { ...common, ...outline, status: 'suspended', agent, at, text: outline.reason, said: text };
    }
    case 'resume': {
      const { suspension, more, resumedAtMs } = commit.node;
      const resumption = { resumption: hash, suspension, ...(more && { more }) };
      return { ...common, at: iso(resumedAtMs), text: await readReply(repository, commit), ...resumption };
    }
    case 'end': {
      const { outcome: status, completedAtMs } = commit.node;
      return { ...common, status, at: iso(completedAtMs), text: await readReply(repository, commit) };
    }
  }
}
