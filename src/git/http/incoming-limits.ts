/**
 * What a fetch in this process takes in. Everything has to be made here once, to know its name, by whoever fetches.
 *
 * All in bytes but `objects`.
 */
export type IncomingLimits = {
  /** Of what comes over the network. */
  packBytes: number;
  objects: number;
  /** Of one object. A larger one is passed over: what leads to it cannot be accepted, everything else can. */
  objectBytes: number;
  /** Of an object that is kept as its difference from another, of that other one, and of the difference. */
  deltaBytes: number;
  /** Of all that is unpacked, time and again for differences of differences. */
  unpackedBytes: number;
};

const MiB = 1024 * 1024;

/** As far as memory stays below 300 MB: a file is there up to four times while it is written. */
export const limitsOnDisk: IncomingLimits = {
  packBytes: 4096 * MiB,
  objects: 1_000_000,
  objectBytes: 32 * MiB,
  deltaBytes: 32 * MiB,
  unpackedBytes: 16_384 * MiB,
};

/** Where there is no disk the pack itself takes memory too. */
export const limitsInMemory: IncomingLimits = { ...limitsOnDisk, packBytes: 64 * MiB, objectBytes: 16 * MiB };
