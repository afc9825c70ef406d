import { defineCommand, type Command } from '../command-line/command.ts';
import { hintAtName, UsageError } from '../errors/exit-code.ts';
import { configHere } from '../open/open-config.ts';
import { openForReading } from '../open/open-repository.ts';
import type { Output } from '../output/output.ts';
import { canAskForConsent } from '../process/cli-environment.ts';
import { type Consent, Consents, isAgreed, type TrustClaim } from '../trust/claim.ts';
import { askForAll, claimsHere, formatClaims, NotTrusted, visible } from '../trust/gate.ts';

export const trustCommand: Command = defineCommand({
  description: `Agents that a repository configures run with all your rights. They run only after you have agreed to their
configuration in .uwf/config.yaml, or uwf/config.yaml of the git folder, and to the files of the repository that it names
as a whole word; 'git' stands for the programs that the repository's own git configuration would run. After a change you
are asked again. What these read or start in turn is not covered: a script in the command line of a shell ('sh -c'), what
'make' takes from its Makefile, 'npm', 'just' and 'task' from theirs, the modules of a script. Your own configuration,
limits and the binding of roles need no agreement.

Without arguments it shows what you have not agreed to, with what changed, and asks for one key at a terminal. With names of
agents, or --all, it does not ask. The agreement is kept for each repository in your own state folder. If an agent works in
another folder than the top, 'uwf -C <folder> trust' finds the files that it names there.`,
  arguments: [
    {
      name: 'agent',
      summary: "what to agree to: an agent, 'git', or another key such as 'snapshot'",
      isOptional: true,
      isRepeatable: true,
      candidates: 'agent',
    },
  ],
  options: {
    all: { summary: 'agree to everything that is configured', conflicts: ['list', 'revoke'] },
    list: { summary: 'list what needs your agreement, and what has it', conflicts: ['revoke'] },
    revoke: { summary: 'withdraw your agreement: to what is named, else to everything here' },
  },
  json: {
    name: 'what it is in the configuration: agents.tests, snapshot',
    state: 'trusted, changed, new, or revoked; gone: trusted, and no longer configured',
    declaredAt: 'file:line:column, or null',
    says: 'what is declared, a line for each value',
    files: 'the files of the repository that it names: word, bytes, sha256',
  },
  examples: [
    { command: 'uwf trust', comment: 'what would run here, and whether it may' },
    { command: 'uwf trust tests coder', comment: 'agree to two agents' },
    { command: 'uwf trust --list', comment: 'what you have agreed to' },
    { command: 'uwf trust --revoke', comment: 'be asked again for everything' },
  ],
  exitCodes: { 6: 'you were not asked, or have not agreed' },
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const store = new Consents(cli, repository);
    const names = args.agent;
    if (options.revoke) {
      const revoked = store.remove((one) => names.length === 0 || names.some((name) => isNamed(one, name)));
      const rows = newestOfEach(revoked).map((one) => rowOf(one, 'revoked'));
      const lines = rows.map(({ name }) => `revoked ${visible(name)}`);
      return out.result(rows, () => lines.join('\n') || 'nothing was trusted');
    }
    const config = await configHere(cli, repository);
    const claims = claimsHere(cli, repository, config);
    if (options.list) return list(out, claims, store.read());
    const unknown = names.find((name) => !claims.some((claim) => isNamed(claim, name)));
    // A harmless agent needs no agreement, so it has no claim. To name it is no mistake.
    if (unknown !== undefined && !Object.hasOwn(config.agents, unknown)) throw nothingCalled(unknown, claims);
    const meant = names.length === 0 ? claims : claims.filter((claim) => names.some((name) => isNamed(claim, name)));
    const before = store.read();
    const open = meant.filter((claim) => !isAgreed(claim, before));
    if (open.length > 0) {
      if (cli.env['UWF_THREAD'] !== undefined) {
        throw new NotTrusted(open, "an agent at work cannot agree; run 'uwf trust' yourself");
      }
      const isSaid = options.all || names.length > 0;
      if (!isSaid) {
        if (!canAskForConsent(cli)) cli.stdout.write(out.isJson ? '' : `${formatClaims(open, before, out.paint)}\n`);
        await askForAll(cli, repository, open, store);
      }
      store.add(open);
      if (isSaid && !out.isJson) cli.stdout.write(`${formatClaims(open, before, out.paint)}\n`);
    }
    const rows = open.map((claim) => rowOf(claim, 'trusted'));
    return out.result(rows, () => (rows.length === 0 ? 'there is nothing that you have not agreed to' : ''));
  },
});

type State = 'trusted' | 'changed' | 'new' | 'gone' | 'revoked';
type Row = { name: string; state: State; declaredAt: string | null; says: string[]; files: Consent['files'] };

async function list(out: Output, claims: readonly TrustClaim[], trusted: readonly Consent[]): Promise<void> {
  const isNamedBy = (many: readonly Consent[], name: string): boolean => many.some((one) => one.name === name);
  const stateOf = (claim: TrustClaim): State =>
    isAgreed(claim, trusted) ? 'trusted' : isNamedBy(trusted, claim.name) ? 'changed' : 'new';
  const gone = newestOfEach(trusted).filter(({ name }) => !isNamedBy(claims, name));
  const rows = [...claims.map((claim) => rowOf(claim, stateOf(claim))), ...gone.map((one) => rowOf(one, 'gone'))];
  await out.table<Row>(rows, [
    { title: 'WHAT', cell: ({ name }) => visible(name), paint: out.paint.name },
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'SAYS', cell: ({ says }) => visible(says.join('; ')) },
    { title: 'FILES', cell: ({ files }) => visible(files.map(({ word }) => word).join(' ')) },
  ]);
}

/** Of each name the newest: branches may have several versions. */
function newestOfEach(consents: readonly Consent[]): Consent[] {
  return [...new Map(consents.map((one) => [one.name, one])).values()];
}

function rowOf({ name, declaredAt, lines, files }: Consent & { declaredAt?: string | undefined }, state: State): Row {
  return { name, state, declaredAt: declaredAt ?? null, says: lines, files };
}

/** An agent may be called as in `agents`, or as uwf names what it asks for. */
function isNamed({ name }: { name: string }, wanted: string): boolean {
  return name === wanted || name === `agents.${wanted}`;
}

function nothingCalled(name: string, claims: readonly TrustClaim[]): UsageError {
  const known = claims.map((claim) => claim.name.replace(/^agents\./, ''));
  const hint = hintAtName(name, known, `there is ${known.join(', ') || 'nothing'}`);
  return new UsageError(`nothing called '${name}' needs your agreement here`, visible(hint));
}
