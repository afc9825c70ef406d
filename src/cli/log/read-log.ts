import type { Repository } from '../../git/repository.ts';
import type { ObjectId } from '../../git/object-id.ts';
import { statusOf } from '../../thread/meta-status.ts';
import { outlineSuspension } from '../../thread/suspension-outline.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import { readReply, readToldChain, type ToldCommit } from '../../thread/told-chain.ts';
import type { LogEntry } from './log-entry.ts';

/** A log entry with its commit. */
type Logged = { entry: LogEntry; commit: ToldCommit };

/** Reads a thread from a commit back to its start, newest first. Reads no further than it is asked. */
export async function* readLog(repository: Repository, from: ObjectId): AsyncGenerator<Logged, void, void> {
  for await (const commit of readToldChain(repository, from)) {
    yield { entry: await describe(repository, commit), commit };
  }
}

async function describe(repository: Repository, commit: ToldCommit): Promise<LogEntry> {
  const { kind, hash, id } = commit;
  const common = { kind, hash, head: id, role: null, status: null, agent: null, durationMs: null, usage: null };
  switch (commit.kind) {
    case 'start':
      return { ...common, at: iso(commit.node.startedAtMs), text: await readTextAt(repository, commit, 'prompt.md') };
    case 'step': {
      const { role, meta, usage, startedAtMs, completedAtMs } = commit.node;
      return {
        ...common,
        role,
        status: statusOf(meta),
        agent: agentOf(commit),
        at: iso(completedAtMs),
        durationMs: completedAtMs - startedAtMs,
        usage,
        text: await readReply(repository, commit),
      };
    }
    case 'suspend': {
      const { suspension: _hash, text, ...outline } = await outlineSuspension(repository, commit);
      const at = iso(commit.node.suspendedAtMs);
      const agent = agentOf(commit);
      return { ...common, ...outline, status: 'suspended', agent, at, text: outline.reason, said: text };
    }
    case 'resume': {
      const { suspension, by, more, resumedAtMs } = commit.node;
      const resumption = { resumption: hash, suspension, ...(by && { by }), ...(more && { more }) };
      return { ...common, at: iso(resumedAtMs), text: await readReply(repository, commit), ...resumption };
    }
    case 'end': {
      const { outcome, completedAtMs } = commit.node;
      return {
        ...common,
        status: outcome,
        at: iso(completedAtMs),
        text: await readTextAt(repository, commit, 'summary.md'),
      };
    }
  }
}

/** The agent as the commit's author names it: for people, without reading back to the start where it is recorded. */
function agentOf({ commit }: ToldCommit): string {
  const name = commit.author.email.replace(/@uwf$/, '');
  try {
    return decodeURIComponent(name);
  } catch {
    // One that was too long for an address, and was cut.
    return name;
  }
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
