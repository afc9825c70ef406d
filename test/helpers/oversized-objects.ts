import { createHash, randomFillSync } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { runGit, type TemporaryRepository } from './temporary-repository.ts';

const mebibyte = 1024 * 1024;

/** Writes a blob of zeros or of noise. @returns its id */
export function writeBlobOf(content: 'zeros' | 'noise', mebibytes: number, { dir, git }: TemporaryRepository): string {
  const path = join(dir, 'large');
  const file = openSync(path, 'w');
  const chunk = Buffer.alloc(mebibyte);
  for (let at = 0; at < mebibytes; at++) writeSync(file, content === 'zeros' ? chunk : randomFillSync(chunk));
  closeSync(file);
  const id = git(
    '-c',
    'core.bigFileThreshold=1m',
    '-c',
    'core.compression=1',
    'hash-object',
    '-w',
    '--no-filters',
    path,
  );
  rmSync(path);
  return id;
}

/** Writes a commit with a message of this size, which git reads into memory as a whole. @returns its id */
export function writeLargeCommit(mebibytes: number, { dir }: TemporaryRepository): string {
  const tree = runGit(dir, ['mktree']);
  const head = `tree ${tree}\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\n`;
  const data = Buffer.concat([Buffer.from(head), Buffer.alloc(mebibytes * mebibyte, 'a')]);
  return runGit(dir, ['-c', 'core.compression=1', 'hash-object', '-w', '-t', 'commit', '--literally', '--stdin'], data);
}

/**
 * Writes a pack of a few kilobytes with a blob that a delta makes large: the same 64 KiB copied again and again.
 *
 * @returns the ids of the blob and of its base; without the base git would send the blob whole
 * Source: gitformat-pack(5).
 */
export function writeDeltaBomb(mebibytes: number, { dir }: TemporaryRepository): string[] {
  const base = Buffer.alloc(65_536, 'x');
  const size = mebibytes * mebibyte;
  const copies = Buffer.alloc(size / base.length, 0x80);
  const delta = Buffer.concat([variable(base.length), variable(size), copies]);
  const baseId = createHash('sha1').update(`blob ${base.length}\0`).update(base).digest();
  const head = Buffer.from([...Buffer.from('PACK'), 0, 0, 0, 2, 0, 0, 0, 2]);
  const entries = [
    entryHead(3, base.length),
    deflateSync(base),
    entryHead(7, delta.length),
    baseId,
    deflateSync(delta),
  ];
  const body = Buffer.concat([head, ...entries]);
  const pack = Buffer.concat([body, createHash('sha1').update(body).digest()]);
  runGit(dir, ['index-pack', '--stdin'], pack);
  const whole = createHash('sha1').update(`blob ${size}\0`);
  for (let at = 0; at < size; at += base.length) whole.update(base);
  return [whole.digest('hex'), baseId.toString('hex')];
}

function variable(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

function entryHead(type: number, size: number): Buffer {
  const first = (type << 4) | (size & 15);
  return size < 16 ? Buffer.from([first]) : Buffer.from([first | 128, ...variable(Math.floor(size / 16))]);
}
