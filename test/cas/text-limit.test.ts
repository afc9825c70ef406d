import { describe, expect, test } from 'vitest';
import { assertTextFits, cutToFit, faultOfLength, MAX_REASON_BYTES, MAX_TEXT_BYTES } from '../../src/cas/canonical.ts';

test('the limits are those that documents name', () => {
  expect([MAX_TEXT_BYTES, MAX_REASON_BYTES]).toEqual([2_097_152, 65_536]);
});

describe('a text', () => {
  test.each([
    ['a'.repeat(10), undefined],
    ['a'.repeat(11), 'the answer has 11 bytes, and 10 is the most'],
    ['ä'.repeat(5), undefined],
    ['ä'.repeat(6), 'the answer has 12 bytes, and 10 is the most'],
    ['€€€', undefined],
    ['€€€€', 'the answer has 12 bytes, and 10 is the most'],
  ])('%s of at most ten bytes', (text, fault) => {
    expect(faultOfLength('the answer', text, 10)).toBe(fault);
  });

  test('has the limit of threads where none is named', () => {
    expect(faultOfLength('it', 'a'.repeat(MAX_TEXT_BYTES))).toBeUndefined();
    expect(() => assertTextFits('the prompt', 'a'.repeat(MAX_TEXT_BYTES))).not.toThrow();
    expect(() => assertTextFits('the prompt', 'a'.repeat(MAX_TEXT_BYTES + 1))).toThrow(
      'the prompt has 2097153 bytes, and 2097152 is the most; nothing was stored',
    );
  });
});

describe('a text that is cut', () => {
  test('stays as it is where it fits', () => {
    expect(cutToFit('a'.repeat(1000), 1000)).toBe('a'.repeat(1000));
  });

  test('keeps its beginning and its end, and says how much is left out', () => {
    const text = `${'a'.repeat(600)}${'b'.repeat(600)}`;
    expect(cutToFit(text, 1000)).toBe(`${'a'.repeat(400)}\n\n[400 bytes are left out here]\n\n${'b'.repeat(400)}`);
  });

  test('keeps no half of a character', () => {
    const cut = cutToFit(`a${'€'.repeat(400)}`, 1000);
    expect(cut).toBe(`a${'€'.repeat(133)}\n\n[401 bytes are left out here]\n\n${'€'.repeat(133)}`);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1000);
    expect(cutToFit(`${'\ufffd'.repeat(2)}${'x'.repeat(1200)}`, 1000)).toMatch(/^\ufffd{2}x/u);
  });
});
