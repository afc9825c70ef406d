import type { ObjectId } from '../object-id.ts';
import type { PushResult } from '../remote.ts';
import { BrokenAnswer } from './broken-answer.ts';
import { textOf, type PacketReader } from './pkt-line.ts';
import { printable } from '../printable.ts';
import type { SentEdit } from '../outgoing/push-plan.ts';
import { errorIn } from './side-band.ts';

/** What the server says of a push: of the objects, and of each ref either nothing bad or why it was not changed. */
export type PushReport = {
  unpacked: string | undefined;
  refusals: ReadonlyMap<string, string>;
  done: ReadonlySet<string>;
};

/**
 * Reads what the server says became of a push.
 *
 * @throws {BrokenAnswer} if it does not say, or not of all of it
 * Source: gitprotocol-pack(5), "Report Status". Of version 2 the option lines are of no interest here.
 */
export async function readPushReport(packets: PacketReader): Promise<PushReport> {
  const refusals = new Map<string, string>();
  const done = new Set<string>();
  const first = await packets.expect();
  const unpack = /^unpack (.*)$/s.exec(textOf(first) ?? '')?.[1];
  if (unpack === undefined) throw new BrokenAnswer(errorIn(first) ?? 'it does not say what became of the push');
  for (let packet = await packets.expect(); packet !== 'flush'; packet = await packets.expect()) {
    const [, word, name, reason] = /^(ok|ng|option) (\S+)(?: (.*))?$/s.exec(textOf(packet) ?? '') ?? [];
    if (name === undefined) throw new BrokenAnswer('it says of the push what cannot be understood');
    if (word === 'ok') done.add(name);
    if (word === 'ng') refusals.set(name, printable(reason ?? '') || 'no reason given');
  }
  return { unpacked: unpack === 'ok' ? undefined : printable(unpack), refusals, done };
}

/** What the server says where it is not the ref itself that is the trouble. */
const becauseOfAnother = /atomic/i;

/**
 * What became of each edit that was sent.
 *
 * Why a ref was not changed the server says in words that differ from one to the next; whether it has moved shows in
 * where it is now.
 * @param now where the remote's refs are after the push; needed if anything was refused
 */
export function resultsOf(
  sent: readonly SentEdit[],
  report: PushReport,
  now: ReadonlyMap<string, ObjectId> | undefined,
): PushResult[] {
  const results = sent.map(({ edit, before }): PushResult => {
    const { name } = edit;
    const refusal = report.refusals.get(name);
    if (refusal === undefined && report.unpacked === undefined && report.done.has(name))
      return { name, outcome: 'done' };
    const reason = refusal ?? report.unpacked ?? 'the remote says nothing of it';
    const here = now?.get(name) ?? null;
    if (here === edit.value) return { name, outcome: 'done' };
    if (now !== undefined && here !== before) return { name, outcome: 'moved', reason };
    return { name, outcome: becauseOfAnother.test(reason) ? 'undone' : 'refused', reason };
  });
  const hasCause = results.some(({ outcome }) => outcome === 'moved' || outcome === 'refused');
  // Nobody is to blame, so each is: two that cannot be beside each other, say.
  return hasCause
    ? results
    : results.map((result) => (result.outcome === 'undone' ? { ...result, outcome: 'refused' } : result));
}
