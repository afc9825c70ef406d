import { prose } from '../lib/appender.js';
import { threadId } from './host-repository.js';
import { fetchRequest, listRequest, makeCommit, NO_ID, pushRequest } from './wire.js';

/**
 * What workers do at a host.
 *
 * @param {{ heads: string[], firsts: string[] }} threads what is there
 * @param {number} claimed how many threads have a claim already
 */
export function operationsOf({ heads, firsts }, claimed) {
  const tips = [...heads];
  const claims = new Map();
  let made = claimed;
  let count = 0;
  const push = async (host, edits, objects) => {
    const exchange = await host.exchange('git-receive-pack', pushRequest(edits, objects));
    const report = exchange.answer.toString('latin1');
    if (edits.some(({ name }) => !report.includes(`ok ${name}`))) throw new Error(`not pushed: ${report.slice(-300)}`);
    return exchange;
  };
  const claimOf = (thread) => {
    count += 1;
    const text = `{"count":${count},"deadlineMs":60000,"head":"${heads[0]}","host":"bench","role":"coder","session":"0123456789abcdef","thread":"${thread}","worker":"bench"}`;
    return makeCommit(`claim ${count}`, { 'claim.json': text });
  };
  const claim = async (host) => {
    const at = made;
    made += 1;
    const thread = threadId(at);
    const { id, objects } = claimOf(thread);
    const exchange = await push(host, [{ name: `refs/uwf/claims/${thread}`, from: NO_ID, to: id }], objects);
    claims.set(at, id);
    return exchange;
  };
  return {
    'a look': (host) => host.exchange('git-upload-pack', listRequest(['refs/threads/', 'refs/uwf/claims/'])),
    'a claim': claim,
    /** A step of a thread with its claim renewed. */
    'a step': async (host) => {
      const [at, before] = claims.entries().next().value ?? [];
      if (at === undefined) throw new Error('a step needs a claim');
      // Nothing else takes it meanwhile.
      claims.delete(at);
      const thread = threadId(at);
      count += 1;
      const files = Object.fromEntries([1, 2, 3, 4, 5, 6].map((which) => [`${which}.md`, prose(count, which)]));
      const step = makeCommit(`step ${count}`, files, tips[at]);
      const renewed = claimOf(thread);
      const edits = [
        { name: `refs/threads/${thread}`, from: tips[at], to: step.id },
        { name: `refs/uwf/claims/${thread}`, from: before, to: renewed.id },
      ];
      const exchange = await push(host, edits, [...step.objects, ...renewed.objects]);
      tips[at] = step.id;
      claims.set(at, renewed.id);
      return exchange;
    },
    'a fetch': (host, number) => {
      const at = number % heads.length;
      return host.exchange('git-upload-pack', fetchRequest(heads[at], firsts[at]));
    },
  };
}

/**
 * Has some clients do an operation at once, until it was done so often.
 *
 * @returns per operation: `tookMs` as a client waits, `hostCpuMs`, bytes; and how many a second
 */
export async function load(host, operation, clients, times) {
  const waits = [];
  let [begun, up, down] = [0, 0, 0];
  const cpuMs = host.cpuMs();
  const startedMs = performance.now();
  const client = async () => {
    while (begun < times) {
      begun += 1;
      const fromMs = performance.now();
      const { bytesUp, bytesDown } = await operation(host, begun);
      waits.push(performance.now() - fromMs);
      up += bytesUp;
      down += bytesDown;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - startedMs) / 1000;
  return {
    waits,
    hostCpuMs: (host.cpuMs() - cpuMs) / times,
    perSecond: times / seconds,
    bytesUp: up / times,
    bytesDown: down / times,
  };
}
