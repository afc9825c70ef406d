const lineEnd = 0x0a;

/** Bytes as they arrive, taken off the front by lines and by counts. */
export class ByteQueue {
  #chunks: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.byteLength;
  }

  /** The next line without its end; `undefined` until all of it is there. */
  takeLine(): Buffer | undefined {
    let length = 0;
    for (const chunk of this.#chunks) {
      const at = chunk.indexOf(lineEnd);
      if (at !== -1) return this.take(length + at + 1)?.subarray(0, -1);
      length += chunk.byteLength;
    }
    return undefined;
  }

  /** The next bytes, a copy of their own; `undefined` until all of them are there. */
  take(count: number): Buffer | undefined {
    if (count > this.#length) return undefined;
    const taken: Buffer[] = [];
    for (let missing = count; missing > 0;) {
      const [first = Buffer.alloc(0)] = this.#chunks;
      taken.push(first.subarray(0, missing));
      if (first.byteLength <= missing) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(missing);
      missing -= Math.min(missing, first.byteLength);
    }
    this.#length -= count;
    return Buffer.concat(taken, count);
  }
}
