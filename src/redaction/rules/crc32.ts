const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

let steps: Uint32Array | undefined;

/**
 * Tells whether the last six characters of a token are the CRC-32 of the thirty before them, in base 62.
 *
 * GitHub's and npm's are. Source: github.blog, "Behind GitHub's new authentication token formats", 2021.
 */
export function crc32Holds(token: string): boolean {
  const body = token.slice(-36, -6);
  let rest = crc32(body);
  let checksum = '';
  for (let length = 0; length < 6; length++) {
    checksum = (digits[rest % 62] ?? '') + checksum;
    rest = Math.floor(rest / 62);
  }
  return token.endsWith(checksum);
}

/** Of ASCII. `zlib.crc32` is in Node 22 and later. */
function crc32(text: string): number {
  steps ??= Uint32Array.from({ length: 256 }, (_, byte) => {
    let step = byte;
    for (let bit = 0; bit < 8; bit++) step = step & 1 ? (step >>> 1) ^ 0xedb88320 : step >>> 1;
    return step;
  });
  let crc = 0xffffffff;
  for (let at = 0; at < text.length; at++) crc = (steps[(crc ^ text.charCodeAt(at)) & 255] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
