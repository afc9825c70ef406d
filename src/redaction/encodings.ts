/** A text that a value can look like. `isCut`: its last character is shared with what follows, and left out. */
type Encoding = { text: string; isBase64: boolean; isCut: boolean };

/** What a value looks like plainly, in hexadecimal, and in base64 also of JSON and of a URL; other escapes are decoded. */
export function encodingsOf(value: string): Encoding[] {
  const plain = [value, value.replaceAll(' ', '+'), value.replaceAll('\n', '\r\n')];
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const escaped = new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(bytes.toString())]);
  const base64 = [...escaped].flatMap((text) => [0, 1, 2].flatMap((before) => inBase64(Buffer.from(text), before)));
  const all = [
    ...[...plain, hex, hex.toUpperCase()].map((text) => ({ text, isBase64: false, isCut: false })),
    ...base64.map(({ text, isCut }) => ({ text, isBase64: true, isCut })),
  ];
  return all.filter(({ text }, at) => all.findIndex((other) => other.text === text) === at);
}

/** The characters that depend on the value alone, where so many bytes are before it, modulo three. */
function inBase64(bytes: Buffer, before: number): { text: string; isCut: boolean }[] {
  const all = Buffer.concat([Buffer.alloc(before), bytes]);
  // Of the bytes before, each has six bits in a character of its own or shares it with the value.
  const core = all.toString('base64').slice(before === 0 ? 0 : before + 1, Math.floor((all.length * 8) / 6));
  const isCut = all.length % 3 !== 0;
  return [core, core.replaceAll('+', '-').replaceAll('/', '_')].map((text) => ({ text, isCut }));
}
