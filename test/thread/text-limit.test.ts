import { expect, test } from 'vitest';
import { extractReply } from '../../src/agent/extract/extract-reply.ts';
import { cutToFit, MAX_REASON_BYTES, MAX_TEXT_BYTES, NODE_LIMITS, TextTooLong } from '../../src/cas/canonical.ts';
import { InvalidSchema } from '../../src/schema/schema-error.ts';
import { compileSchema } from '../../src/schema/validator.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import { threadCas } from '../../src/thread/thread-cas.ts';
import { readTextAt } from '../../src/thread/thread-commit.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { checkAll, refusals } from '../verify/incoming/incoming-fixture.ts';
import { startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

const longest = 'é'.repeat(MAX_TEXT_BYTES / 2);

test('a prompt that is too long is refused before anything is stored', async () => {
  const repository = createMapRepository();
  const message = `the prompt has ${MAX_TEXT_BYTES + 1} bytes, and ${MAX_TEXT_BYTES} is the most; nothing was stored`;
  await expect(startLoop(repository, { prompt: `${longest}x` })).rejects.toThrow(
    new TextTooLong(message.slice(0, -20)),
  );
  expect([repository.objectMap.size, repository.refMap.size]).toEqual([0, 0]);
  const { prompt } = await startLoop(repository, { prompt: longest });
  expect(prompt.length).toBe(longest.length);
});

test('an answer that is too long leaves the thread suspended, and what was said too long is cut', async () => {
  const repository = createMapRepository();
  const waiting = await suspendThread(
    repository,
    await startLoop(repository),
    suspensionDraft({
      reason: 'why '.repeat(MAX_REASON_BYTES),
      attempts: [{ text: `${longest}${longest}`, errors: ['too long'], usage: null }],
      text: `first ${longest} last`,
    }),
  );
  const text = await readTextAt(repository, waiting.head, 'output.md');
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_TEXT_BYTES);
  expect(text).toMatch(/^first é[^]*\n\n\[\d+ bytes are left out here\]\n\n[^]*é last$/);
  expect(text).not.toContain('\uFFFD');
  const refs = new Map(repository.refMap);
  await expect(resumeThread(repository, waiting, `${longest}x`)).rejects.toThrow(TextTooLong);
  expect(repository.refMap).toEqual(refs);
  expect(refusals(await checkAll(repository))).toEqual({});
});

test('a reply that is too long is not accepted, and says by how much', async () => {
  const meta = { $status: 'done' };
  expect(await extractReply(longest, {}, meta)).toMatchObject({ kind: 'ok' });
  expect(await extractReply(`${longest}x`, {}, meta)).toEqual({
    kind: 'invalid',
    errors: [expect.stringContaining(`the reply has ${MAX_TEXT_BYTES + 1} bytes, and ${MAX_TEXT_BYTES} is the most`)],
  });
  expect(await extractReply('', {}, { long: longest })).toMatchObject({ kind: 'invalid' });
  const reason = 'why '.repeat(MAX_REASON_BYTES);
  expect(await extractReply('', {}, { $status: '$SUSPEND', reason })).toMatchObject({ kind: 'invalid' });
});

test.each([
  ['a text', 'x'.repeat(NODE_LIMITS.maxBytes + 1)],
  ['a text that looks like JSON of too many values', `{${','.repeat(NODE_LIMITS.maxValues + 1)}`],
  ['a text that looks like JSON nested too deep', '{'.repeat(NODE_LIMITS.maxDepth + 1)],
])('what no fetch would take is not put: %s', async (_, text) => {
  const repository = createMapRepository();
  const { id } = await startLoop(repository);
  const refs = new Map(repository.refMap);
  await expect(threadCas(repository, id).put(text)).rejects.toMatchObject({ code: 'node-too-large' });
  expect(repository.refMap).toEqual(refs);
});

test('a step whose commit no fetch would take is not stored', async () => {
  const repository = createMapRepository();
  const start = await startLoop(repository);
  const meta = { $status: 'x'.repeat(1_100_000) };
  await expect(appendStep(repository, start, stepDraft({ meta }))).rejects.toMatchObject({ code: 'commit-too-large' });
});

test('a schema that no fetch would take is a mistake', async () => {
  const schema = { description: 'x'.repeat(262_144) };
  await expect(compileSchema(schema)).rejects.toThrow(InvalidSchema);
  await expect(compileSchema(schema)).rejects.toThrow(/takes 2\d+ bytes, and 262144 is the most/);
});

test('a text that fits is not cut', () => {
  expect(cutToFit(longest)).toBe(longest);
});
