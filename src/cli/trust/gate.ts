import { existsSync } from 'node:fs';
import { setupIn, usesIn } from '../../engine/agents/admission.ts';
import type { Config } from '../../engine/config/config.ts';
import { readingContext, type Admit, type AgentUse } from '../../engine/engine-context.ts';
import { UwfError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import { ownPrograms, ownProgramsFor, type GitUse } from '../../git/repository/own-programs.ts';
import { isWithin } from '../../git/system/files.ts';
import { askKey } from '../ask/ask.ts';
import type { RunView } from '../follow/run-view.ts';
import { createPalette, type Palette } from '../output/text.ts';
import { canAskForConsent, trustsAll, type CliEnvironment } from '../process/cli-environment.ts';
import {
  claimOfAgent,
  claimOfGit,
  claimOfSetting,
  type Consent,
  Consents,
  FileHasher,
  isAgreed,
  type TrustClaim,
} from './claim.ts';

/** No person could be asked for agreement, or the answer was no. Nothing was run or stored. */
export class NotTrusted extends UwfError {
  constructor(claims: readonly TrustClaim[], hint: string) {
    const names = [...new Set(claims.map(({ name }) => name))];
    const text = `you have not agreed to what this repository would run: ${visible(names.join(', '))}`;
    super(text, { code: 'not-trusted', kind: 'agent', hint, facts: { names } });
  }
}

/**
 * Lets an agent run only if a person has agreed to it, in this repository and with its present configuration: what it runs, the
 * files that it names and what the configuration lets out. Asks at a terminal for all agents at once.
 *
 * An admitted use stays admitted while the command runs. If an agent changes it, the next command asks again.
 */
export function trustGate(
  cli: CliEnvironment,
  repository: Repository,
  config: Config,
  view?: Pick<RunView, 'whileAsking'>,
): Admit {
  const admitted = new Set<string>();
  const keyOf = ({ binding, cwd, isRecorded, isFilled = false, isMerged = false }: AgentUse): string =>
    [binding.name, cwd, isRecorded, isFilled, isMerged].join('\0');
  const admit = async (uses: readonly AgentUse[]): Promise<void> => {
    const open = uses.filter((use) => !admitted.has(keyOf(use)));
    if (open.length === 0) return;
    const isRecorded = open.some((use) => use.isRecorded);
    const isMerged = open.some((use) => use.isMerged);
    const claims = (): TrustClaim[] => [
      ...claimsOf(open, config),
      ...(isRecorded ? claimsOfGit(cli, repository, 'files') : []),
      ...(isMerged ? claimsOfGit(cli, repository, 'merge') : []),
    ];
    await agreeTo(cli, repository, claims, view);
    for (const use of open) admitted.add(keyOf(use));
  };
  // Threads that run beside each other ask one after the other.
  let last = Promise.resolve();
  return (uses) => {
    if (trustsAll(cli)) return Promise.resolve();
    const turn = last.then(() => admit(uses));
    last = turn.catch(() => {});
    return turn;
  };
}

/** Has the person agree to claims, all at once. */
export async function agreeTo(
  cli: CliEnvironment,
  repository: Repository,
  claims: () => readonly TrustClaim[],
  view?: Pick<RunView, 'whileAsking'>,
): Promise<void> {
  const store = new Consents(cli, repository);
  // A claim that changed while the person read is asked for again.
  for (;;) {
    const trusted = store.read();
    const asked = claims().filter((claim) => !isAgreed(claim, trusted));
    if (asked.length === 0) return;
    const asking = (): Promise<void> => askForAll(cli, repository, asked, store);
    await (view ? view.whileAsking(asking) : asking());
    store.add(asked);
  }
}

/** What is claimed at the top of the work tree and in the folder of the command. */
export function claimsHere(cli: CliEnvironment, repository: Repository, config: Config): TrustClaim[] {
  const context = readingContext(repository, config);
  const workTree = repository.location?.workTree;
  const here = realPath(cli.cwd);
  const isInside = workTree !== undefined && isWithin(here, workTree);
  const folders = new Set([context.cwd, ...(isInside ? [here] : [])]);
  const uses = [...folders].flatMap((folder) => [
    ...usesIn(context, Object.values(config.agents), folder),
    ...[setupIn(context, folder)].filter((use) => use !== undefined),
  ]);
  return [...claimsOf(uses, config), ...claimsOfGit(cli, repository)];
}

/** What the repository's own configuration of git would run, if some of it runs for this use; default: for any use. */
export function claimsOfGit({ env }: CliEnvironment, { location }: Repository, use?: GitUse): TrustClaim[] {
  if (location === undefined) return [];
  const programs = use === undefined ? ownPrograms(location, env) : ownProgramsFor(use, location, env);
  return programs.length === 0 ? [] : [claimOfGit(programs, location, new FileHasher())];
}

/** All that agents, and the configuration that they run under, claim; once where it is the same in two folders. */
function claimsOf(uses: readonly AgentUse[], config: Config): TrustClaim[] {
  const hasher = new FileHasher();
  const ofAgents = uses.flatMap((use) => claimOfAgent(use, hasher) ?? []);
  const claims = [...ofAgents, ...(config.settings ?? []).map(claimOfSetting)];
  return claims.filter((claim, at) => !isAgreed(claim, claims.slice(0, at)));
}

const COVERED = `You agree to these lines and files; when one changes, you are asked again. What they read or
start in turn, and is not listed, is not covered: a Makefile, the scripts of package.json, a script in
the command line of a shell.`;

/** How many rows of 80 columns a person is expected to read before pressing a key. */
const MAX_ROWS = 200;

/** Shows what would run and asks for one key. */
export async function askForAll(
  cli: CliEnvironment,
  repository: Repository,
  claims: readonly TrustClaim[],
  store: Consents,
): Promise<void> {
  if (!canAskForConsent(cli)) throw new NotTrusted(claims, hintToTrust(repository, claims));
  const paint = createPalette(cli.stderr, cli.env);
  const text = formatClaims(claims, store.read(), paint);
  const rows = text.split('\n').reduce((sum, line) => sum + Math.ceil(line.length / 80), 0);
  if (rows > MAX_ROWS) {
    const hint = `it does not fit on a screen, so read the configuration first; ${hintToTrust(repository, claims)}`;
    throw new NotTrusted(claims, hint);
  }
  const names = visible([...new Set(claims.map(({ name }) => name))].join(', '));
  const title = paint.title('This repository would run, with all that you may do:');
  cli.stderr.write(`\n${title}\n\n${text}\n\n${paint.quiet(COVERED)}\n`);
  const key = await askKey(cli, `Trust ${names}? [y/N]`, 'yn\r\n');
  if (key !== 'y') throw new NotTrusted(claims, hintToTrust(repository, claims));
}

/** The command that agrees without a question. It names no claim if a name has characters that a shell interprets. */
function hintToTrust({ location }: Repository, claims: readonly TrustClaim[]): string {
  const plain = (text: string): boolean => /^[\w./@+-]+$/.test(text);
  const names = [...new Set(claims.map(({ name }) => name.replace(/^agents\./, '')))];
  const which = names.every((name) => plain(name) && !name.startsWith('-')) ? names.join(' ') : '--all';
  const folders = [...new Set(claims.flatMap(({ cwd }) => cwd ?? []))];
  // The work tree of a thread may not be there yet; until then the main work tree has its files.
  const [folder] = folders.filter((cwd) => cwd !== location?.workTree && cwd !== location?.gitDir && existsSync(cwd));
  const where = folder === undefined || !plain(folder) ? '' : `-C ${folder} `;
  return `'uwf ${where}trust' shows it, 'uwf ${where}trust ${which}' agrees; UWF_TRUST=all agrees to everything`;
}

/**
 * Describes what claims would run, each with its differences from what was trusted under the same name before. All of it comes
 * from a repository, so characters that a person cannot see are escaped.
 */
export function formatClaims(claims: readonly TrustClaim[], trusted: readonly Consent[], paint: Palette): string {
  return claims.map((claim) => formatClaim(claim, trusted, paint)).join('\n\n');
}

function formatClaim(claim: TrustClaim, trusted: readonly Consent[], paint: Palette): string {
  const at = claim.declaredAt === undefined ? '' : paint.quiet(`  ${visible(claim.declaredAt)}`);
  const title = paint.name(visible(claim.name)) + at;
  const before = trusted.findLast(({ name }) => name === claim.name);
  const lines = allLines(claim);
  if (before === undefined) return [title, ...lines.map((line) => `    ${visible(line)}`)].join('\n');
  const known = allLines(before);
  const gone = known.filter((line) => !lines.includes(line)).map((line) => paint.error(`  - ${visible(line)}`));
  const rest = lines.map((line) =>
    known.includes(line) ? `    ${visible(line)}` : paint.good(`  + ${visible(line)}`),
  );
  return [title, ...gone, ...rest].join('\n');
}

function allLines({ lines, files }: Consent): string[] {
  return [
    ...lines,
    ...files.map(({ word, bytes, sha256 }) => `${word}: ${bytes} bytes, sha256 ${sha256.slice(0, 16)}`),
  ];
}

/**
 * Escapes characters that are invisible or that change how the text around them is shown: `\u{202e}`. A long run of spaces,
 * which could push the text before it off the screen, is replaced by its length.
 */
export function visible(text: string): string {
  const short = text.replaceAll(/ {9,}/g, (spaces) => `\\u{20}*${spaces.length}`);
  return short.replaceAll(
    // U+2800 is a sign of Braille without a dot.
    /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
