import type { RunOptions } from './run.ts';

export type ResumeOptions = RunOptions & { answer?: string };
