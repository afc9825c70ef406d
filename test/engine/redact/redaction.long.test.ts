import { expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/agent/contract.ts';
import type { JsonValue } from '../../../src/json.ts';
import { allWritten, formsOf, placesOf } from '../../helpers/all-written.ts';
import { randomFrom } from '../../helpers/mutants.ts';
import { installReportingAgent, reportingConfig, type Act } from '../../helpers/reporting-agent.ts';
import { createFixture, workflow } from '../engine-fixture.ts';

const RUNS = 10;
const TURNS = 50;

const alphabets = [
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=',
  '!"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~',
  'äöüßéñ漢字かなабв🔑abcdefghijklmnop0123456789',
].map((letters) => Array.from(letters));

const definition = workflow('w', { a: { type: 'object', required: ['$status'] } }, 'a [more] > a > end', {
  limits: { maxSteps: 1000 },
});

class Generator {
  readonly #roll: (below: number) => number;
  readonly secrets: readonly string[];

  constructor(seed: number) {
    const random = randomFrom(seed);
    this.#roll = (below) => Math.floor(random() * below);
    this.secrets = Array.from({ length: 8 }, (_, at) => this.#secret(alphabets[at % alphabets.length]!));
  }

  #secret(letters: readonly string[]): string {
    const length = 14 + this.#roll(40);
    // A letter and a digit in the middle: neither a word nor a number.
    const half = (): string => Array.from({ length: length / 2 }, () => letters[this.#roll(letters.length)]).join('');
    return `k${half()}9xQ${half()}z`;
  }

  #one<T>(items: readonly T[]): T {
    return items[this.#roll(items.length)]!;
  }

  /** Words with secrets among them, in any of their forms. */
  text(): string {
    const words = Array.from({ length: 1 + this.#roll(12) }, () =>
      this.#roll(3) === 0
        ? this.#one(Object.values(formsOf(this.#one(this.secrets))))
        : this.#one(['the', 'a', 'x=', '"', '\n', 'k', 'key:']),
    );
    return words.join(this.#one([' ', '', '\n', ',', '"', '/']));
  }

  value(depth: number = 0): JsonValue {
    const kind = this.#roll(depth > 2 ? 2 : 4);
    if (kind === 0) return this.#roll(100);
    if (kind === 1) return this.text();
    const items = Array.from({ length: this.#roll(3) }, () => this.value(depth + 1));
    return kind === 2 ? items : Object.fromEntries(items.map((item, at) => [`${at} ${this.text()}`, item]));
  }

  /** A text in pieces: whole, in two, or letter by letter. */
  #pieces(text: string): string[] {
    const cut = this.#roll(text.length + 1);
    return this.#one([[text], [text.slice(0, cut), text.slice(cut)], text.split('')]);
  }

  events(): AgentEvent[] {
    const id = String(this.#roll(5));
    const kind = this.#one(['text', 'thought', 'plan', 'call', 'result', 'refusal', 'turn', 'end'] as const);
    if (kind === 'text' || kind === 'thought') return this.#pieces(this.text()).map((text) => ({ kind, text }));
    if (kind === 'plan' || kind === 'refusal') return [{ kind, text: this.text() }];
    if (kind === 'call') return [{ kind: 'tool-call', id, name: this.text(), arguments: this.value() }];
    if (kind === 'result') return [{ kind: 'tool-result', id, result: this.text(), durationMs: 1 }];
    if (kind === 'turn') return [{ kind: 'turn-start', input: this.text() }];
    return [{ kind: 'turn-end', usage: { inputTokens: 1, outputTokens: 1, turns: 1 } }];
  }

  turn(isLast: boolean): Act[] {
    const events = Array.from({ length: this.#roll(12) }, () => this.events()).flat();
    const status = isLast ? 'done' : 'more';
    const meta = { ...Object.fromEntries([[this.text(), this.value()]]), value: this.value(), $status: status };
    const session = this.#roll(4) === 0 ? this.text() : 's';
    const text = this.text();
    const reply = this.#roll(2)
      ? { kind: 'reply' as const, text: `---\n${JSON.stringify(meta)}\n---\n${text}`, session }
      : { kind: 'reply' as const, text, meta, session, agentVersion: this.text(), stopReason: this.text() };
    return [...events.map((event) => ({ emit: event })), { reply }];
  }
}

test.each(Array.from({ length: RUNS }, (_, at) => at + 1))(
  `no known value is left of ${TURNS} turns, seed %i`,
  async (seed) => {
    const generator = new Generator(seed);
    const acts = Array.from({ length: TURNS }, (_, at) => generator.turn(at === TURNS - 1));
    const names = generator.secrets.map((value, at) => [`SECRET_${at}`, value]);
    const env = { PATH: process.env['PATH'], ...Object.fromEntries(names) };
    const fixture = await createFixture(reportingConfig({ a: acts }), { env });
    installReportingAgent(fixture.dir);
    const { thread } = await fixture.engine.start({ definition, prompt: generator.text() });
    const over = await fixture.engine.run(thread);
    expect(over.event, over.text).toBe('thread.ended');
    expect((await fixture.engine.describe(thread)).steps).toBe(TURNS);
    expect(placesOf(generator.secrets, allWritten(fixture.dir))).toEqual([]);
    expect(placesOf(generator.secrets, new Map([['events', JSON.stringify(fixture.events)]]))).toEqual([]);
  },
  300_000,
);
