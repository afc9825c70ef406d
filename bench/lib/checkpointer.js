import { statSync } from 'node:fs';
import { prose } from './appender.js';

const textsPerStep = 6;

/**
 * A database of LangGraph's checkpointer with one thread, a checkpoint for each step.
 *
 * A checkpoint has only the texts of its own step, and the further writes of LangGraph are left out: no graph stores less.
 */
export async function openCheckpointer({ SqliteSaver, emptyCheckpoint, uuid6 }, file, steps) {
  const saver = SqliteSaver.fromConnString(file);
  const checkpointOf = (number, texts) => ({
    ...emptyCheckpoint(),
    id: uuid6(number),
    channel_values: { texts },
    channel_versions: { texts: number },
  });
  const metadata = (number) => ({ source: 'loop', step: number, parents: {} });
  const put = (config, number, texts) => saver.put(config, checkpointOf(number, texts), metadata(number));

  let head = { configurable: { thread_id: 'bench', checkpoint_ns: '' } };
  const heads = [];
  for (let number = 1; number <= steps; number += 1) {
    head = await put(head, number, textsOf(number));
    heads.push(head);
  }
  saver.db.pragma('wal_checkpoint(TRUNCATE)');
  const forkPoint = heads.at(-10);

  return {
    megabytes: () => statSync(file).size / 1e6,
    async readAll() {
      return readWith((other) => other.list({ configurable: { thread_id: 'bench' } }));
    },
    async readNewest(count) {
      return readWith((other) => other.list({ configurable: { thread_id: 'bench' } }, { limit: count }), 1);
    },
    /** Copies an older checkpoint under a new thread id, as `updateState` does. */
    async fork() {
      const { checkpoint } = await saver.getTuple(forkPoint);
      await saver.put(
        { configurable: { thread_id: uuid6(0), checkpoint_ns: '' } },
        { ...checkpoint, id: uuid6(0) },
        { source: 'fork', step: -1, parents: {} },
      );
    },
    async append(round, synchronous) {
      saver.db.pragma(`synchronous=${synchronous}`);
      head = await put(head, steps + round + 1, textsOf(steps + round + 1));
    },
    /** A step of a graph whose state is all messages so far, as for an agent. */
    async appendAll(round, said) {
      const texts = Array.from({ length: said }, (_, at) => textsOf(at)).flat();
      await put({ configurable: { thread_id: 'all', checkpoint_ns: '' } }, round, texts);
    },
    close: () => saver.db.close(),
  };

  async function readWith(list, perStep = textsPerStep) {
    const other = SqliteSaver.fromConnString(file);
    try {
      let texts = 0;
      for await (const { checkpoint } of list(other))
        texts += Math.min(perStep, checkpoint.channel_values.texts.length);
      return texts;
    } finally {
      other.db.close();
    }
  }
}

function textsOf(number) {
  return Array.from({ length: textsPerStep }, (_, which) => prose(number, which));
}
