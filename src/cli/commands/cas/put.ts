import { readFileSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { NodeHash } from '../../../cas/hash.ts';
import { repositoryNodes } from '../../../cas/lookup.ts';
import { combineSources, getNode, NodeNotFound } from '../../../cas/node.ts';
import { removeFromScratch } from '../../../cas/scratch.ts';
import type { Redaction } from '../../../engine/redact/redaction.ts';
import { UwfError } from '../../../errors.ts';
import { hashObject } from '../../../git/format/object-id.ts';
import type { Repository } from '../../../git/repository.ts';
import { readCommit } from '../../../git/stores/read.ts';
import { orElse } from '../../../or-else.ts';
import { type Artifact, builtIn } from '../../../schema/built-in.ts';
import { schemaOfType } from '../../../schema/links.ts';
import { putNode } from '../../../schema/put.ts';
import { schemaWords } from '../../../schema/typed-schema.ts';
import { PINS_REF } from '../../../thread/thread-id.ts';
import { type Command, defineCommand, hashArgument, readJson } from '../../command-line/command.ts';
import { textFrom } from '../../command-line/read-text.ts';
import { UsageError } from '../../errors/exit-code.ts';
import { findType, nodeScope, threadOption } from '../../find/find-node.ts';
import { foldGathered, redactionHere, sayTaken } from '../../open/open-config.ts';
import { openForWriting } from '../../open/open-repository.ts';
import type { CliEnvironment } from '../../process/cli-environment.ts';

export const casPutCommand: Command = defineCommand({
  description: `Stores a text as a node and prints the node's hash. Under a thread the node is kept until the next step
takes it in, and then as long as the thread. Without a thread it is kept until 'uwf cas rm'. With --type the value is JSON
that satisfies that schema.

What is given is the text itself; '-' reads it from stdin, --file from a file.

Secrets are redacted before the text is stored, and reported on stderr. The hash is that of the redacted text.

--pin keeps an object of git: a commit (it becomes a parent of the step that takes it in, so it is pushed too), a folder
(HEAD:src) or any file. --title describes it; a text with a title is also pinned as a file under that title.`,
  arguments: [{ name: 'text', summary: "the text, or '-' for stdin", isOptional: true }],
  options: {
    thread: threadOption,
    file: { short: 'F', value: '<file>', summary: "store what is in this file; '-' is stdin", candidates: 'file' },
    pin: {
      value: '<rev|file>',
      summary: 'keep this commit, folder (HEAD:src) or file',
      candidates: 'file',
      conflicts: ['file', 'type'],
    },
    'allow-secrets': { summary: 'pin a file although there may be secrets in it' },
    title: { value: '<text>', summary: 'what it is, for people' },
    type: {
      value: '<schema>',
      summary: 'it is JSON of this type: the hash of a schema, or the name of a built-in one',
    },
  },
  json: { hash: "the node's hash", oid: 'the git object that it lies in, or that it pins' },
  examples: [
    { command: "uwf cas put 'Phase 1: read the configuration' --thread 01KAM4", comment: 'a text' },
    { command: 'npm test 2>&1 | uwf cas put -', comment: 'what a program says' },
    { command: 'uwf cas put --pin HEAD --title "the fix"', comment: 'a commit, for as long as the thread' },
    { command: 'uwf cas put --file phase.json --type 3F2V04Y8ZNQWE', comment: 'a value of a type of your own' },
  ],
  async run({ args, options, cli, out }) {
    if (options.pin !== undefined) {
      if (args.text !== undefined) throw new UsageError('--pin cannot be given together with a text');
      const repository = await openForWriting(cli);
      const { artifact, blob } = await readArtifact(cli, repository, options.pin, options.title);
      const redaction = await redactionHere(cli, repository);
      if (blob && !options['allow-secrets']) assertFileWithoutSecrets(redaction, options.pin, blob);
      const { cas } = nodeScope(cli, repository, options.thread);
      const hash = await pin(cas, repository, redaction.value(artifact), blob);
      sayTaken(cli, redaction);
      await out.result({ hash, oid: artifact.oid }, () => hash);
      await foldGathered(cli, repository);
      return;
    }
    const text = await textFrom(cli, { text: args.text, file: options.file });
    if (text === undefined)
      throw new UsageError("'uwf cas put' needs a text", "give it, or '-' for stdin, or --file <file>");
    const repository = await openForWriting(cli);
    const { cas, nodes } = nodeScope(cli, repository, options.thread);
    const type = options.type === undefined ? builtIn.content : await findType(repository, options.type);
    const redaction = await redactionHere(cli, repository);
    const payload =
      options.type === undefined
        ? { text: redaction.text(text) }
        : redaction.json(
            readJson(text, 'with --type the value has to be JSON'),
            schemaWords(await schemaOfType(combineSources(nodes, repositoryNodes(repository)), type)),
          );
    const hash = cas ? await cas.putTyped(type, payload) : await putNode(repository, type, payload, { ref: PINS_REF });
    const { oid } = await getNode(nodes, hash);
    if (options.title !== undefined) {
      await pin(cas, repository, { kind: 'blob', oid, title: redaction.text(options.title) });
    }
    sayTaken(cli, redaction);
    await out.result({ hash, oid }, () => hash);
    const { text: word = '-' } = args;
    if (word !== '-' && orElse(() => statSync(resolve(cli.cwd, word)).isFile(), false)) {
      out.hint(`there is a file '${word}'; what was stored is its name. --file stores what is in it`);
    }
    await foldGathered(cli, repository);
  },
});

/** Files are kept as they are. */
function assertFileWithoutSecrets(redaction: Redaction, path: string, blob: Uint8Array): void {
  const hits = redaction.find(Buffer.from(blob).toString(), path);
  if (hits.length === 0) return;
  throw new UwfError(`${path} holds what looks like secrets: ${hits.join(', ')}`, {
    code: 'secret-in-file',
    kind: 'data',
    hint: 'take it out, or keep the file as it is with --allow-secrets',
  });
}

type Cas = ReturnType<typeof nodeScope>['cas'];

function pin(cas: Cas, repository: Repository, artifact: Artifact, blob?: Uint8Array): Promise<NodeHash> {
  if (cas) return cas.pin(artifact, blob);
  return putNode(repository, builtIn.artifact, { ...artifact }, { ref: PINS_REF, ...(blob && { blob }) });
}

/**
 * Finds what is to be pinned: a file, whatever is in it, or what a revision names (`main`, `HEAD:src`). The repository may
 * not have the bytes of a file, so they are given, too.
 */
async function readArtifact(
  cli: CliEnvironment,
  repository: Repository,
  text: string,
  title: string | undefined,
): Promise<{ artifact: Artifact; blob?: Uint8Array }> {
  const file = resolve(cli.cwd, text);
  const { location } = repository;
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) {
    const blob = readFileSync(file);
    const oid = hashObject({ type: 'blob', data: blob }, repository.objects.format);
    const path = location?.workTree === undefined ? undefined : relative(location.workTree, file);
    const isInside = path !== undefined && path !== '' && !path.startsWith('..');
    return { artifact: { kind: 'blob', oid, ...(isInside && { path }), title: title ?? text }, blob };
  }
  const { resolveRevision } = await import('../../../git/process/revisions.ts');
  const found = location && (await resolveRevision({ location, env: cli.env }, text));
  if (!found) {
    const hint = 'a folder can be pinned as it was committed: HEAD:<folder>';
    throw new UsageError(`'${text}' is neither a file nor a revision of git`, hint);
  }
  const path = /^[^:]+:(.+)$/.exec(text)?.[1];
  const subject = found.kind === 'commit' ? await subjectOf(repository, found.oid) : text;
  return { artifact: { ...found, ...(path !== undefined && { path }), title: title ?? subject } };
}

async function subjectOf({ objects }: Repository, oid: Artifact['oid']): Promise<string> {
  const { message } = await readCommit(objects, oid);
  return message.split('\n', 1)[0] ?? '';
}

export const casRmCommand: Command = defineCommand({
  description: `Removes a node that no step has taken in; git collects it later. A node that a step has taken in stays as
long as the thread, so the command refuses it.`,
  arguments: [hashArgument],
  options: { thread: threadOption },
  json: { hash: "the node's hash" },
  examples: [{ command: 'uwf cas rm 3F2V04Y8ZNQWE --thread 01KAM4', comment: 'put by mistake' }],
  exitCodes: { 1: 'it was not put there', 5: 'a step has taken it in' },
  async run({ args, options, cli, out }) {
    const repository = await openForWriting(cli);
    const { cas, find } = nodeScope(cli, repository, options.thread);
    const hash = await find(args.hash);
    const isRemoved = cas ? await cas.delete(hash) : (await removeFromScratch(repository, PINS_REF, [hash])).length > 0;
    if (!isRemoved) throw new NodeNotFound(hash);
    await out.result({ hash }, () => `removed ${out.paint.id(hash)}`);
  },
});
