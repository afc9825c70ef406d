import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { NodeHash } from '../../../cas/hash.ts';
import { repositoryNodes } from '../../../cas/lookup/repository-nodes.ts';
import { combineSources, getNode } from '../../../cas/node-source.ts';
import type { Redaction } from '../../../engine/redaction.ts';
import { UwfError } from '../../../errors.ts';
import type { Repository } from '../../../git/repository.ts';
import type { JsonValue } from '../../../json.ts';
import { builtIn, type Artifact } from '../../../schema/built-in.ts';
import { schemaOfType } from '../../../schema/type-schema.ts';
import { schemaWords } from '../../../schema/schema-words.ts';
import { putNode } from '../../../schema/put-node.ts';
import { PINS_REF } from '../../../thread/thread-refs.ts';
import { defineCommand, type Command } from '../../command.ts';
import type { CliContext } from '../../context.ts';
import { findType } from '../../find-type.ts';
import { readArtifact } from '../../input/read-artifact.ts';
import { readText } from '../../input/read-text.ts';
import { openToWrite } from '../../open-repository.ts';
import { redactionHere, sayTaken } from '../../redaction-here.ts';
import { scopeOf, threadOption } from '../../thread-scope.ts';
import { UsageError } from '../../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'store a text or a value',
  description: `Stores a text as a node and prints the node's hash. Under a thread it is kept until the next step takes it in, and then
as long as the thread; without one until 'uwf cas rm'. With --type it is JSON that has to satisfy that schema.

What is given is the text itself; '-' reads it from stdin, --file from a file.

Secrets are taken out before anything is stored, and said on stderr; the hash is that of what was stored.

With --pin it is an object of git that is kept: a commit (the step that takes it in has it as a parent, so that it is
pushed along), a folder (HEAD:src) or a file, whatever is in it. --title says what something is; a text with a title is
also pinned as a file under that title.`,
  arguments: [{ name: 'text', summary: "the text, or '-' for stdin", isOptional: true }],
  options: {
    thread: threadOption,
    file: { short: 'F', value: '<file>', summary: "store what is in this file; '-' is stdin", candidates: 'file' },
    pin: { value: '<rev|file>', summary: 'keep this commit, folder (HEAD:src) or file', candidates: 'file' },
    'allow-secrets': { summary: 'pin a file although there may be secrets in it' },
    title: { value: '<text>', summary: 'what it is, for people' },
    type: {
      value: '<schema>',
      summary: 'it is JSON of this type: the hash of a schema, or the name of a built-in one',
    },
  },
  json: {
    shape: 'object',
    fields: { hash: "the node's hash", oid: 'the git object that it lies in, or that it pins' },
  },
  examples: [
    { command: "uwf cas put 'Phase 1: read the configuration' --thread 01KAM4", comment: 'a text' },
    { command: 'npm test 2>&1 | uwf cas put -', comment: 'what a program says' },
    { command: 'uwf cas put --pin HEAD --title "the fix"', comment: 'a commit, for as long as the thread' },
    { command: 'uwf cas put --file phase.json --type 3F2V04Y8ZNQWE', comment: 'a value of a type of your own' },
  ],
  async run({ args, options, cli, out }) {
    if (options.pin !== undefined) {
      const isMixed = args.text !== undefined || options.file !== undefined || options.type !== undefined;
      if (isMixed) throw new UsageError('--pin cannot be given together with a text, --file or --type');
      const repository = await openToWrite(cli);
      const { artifact, blob } = await readArtifact(cli, repository, options.pin, options.title);
      const redaction = await redactionHere(cli, repository);
      if (blob && !options['allow-secrets']) assertFileWithoutSecrets(redaction, options.pin, blob);
      const hash = await pin(cli, repository, options.thread, redaction.value(artifact), blob);
      sayTaken(cli, redaction);
      await out.result({ hash, oid: artifact.oid }, () => hash);
      return;
    }
    const text = await readText(cli, { text: args.text, file: options.file });
    if (text === undefined)
      throw new UsageError("'uwf cas put' needs a text", "give it, or '-' for stdin, or --file <file>");
    const repository = await openToWrite(cli);
    const { cas, nodes } = scopeOf(cli, repository, options.thread);
    const type = options.type === undefined ? builtIn.content : await findType(repository, options.type);
    const redaction = await redactionHere(cli, repository);
    const payload =
      options.type === undefined
        ? { text: redaction.text(text) }
        : redaction.json(
            parseJson(text),
            schemaWords(await schemaOfType(combineSources(nodes, repositoryNodes(repository)), type)),
          );
    const hash = cas ? await cas.putTyped(type, payload) : await putNode(repository, type, payload, { ref: PINS_REF });
    const { oid } = await getNode(nodes, hash);
    if (options.title !== undefined) {
      await pin(cli, repository, options.thread, { kind: 'blob', oid, title: redaction.text(options.title) });
    }
    sayTaken(cli, redaction);
    await out.result({ hash, oid }, () => hash);
    if (args.text !== undefined && args.text !== '-' && existsSync(resolve(cli.cwd, args.text))) {
      out.hint(`there is a file '${args.text}'; what was stored is its name. --file stores what is in it`);
    }
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

function pin(
  cli: CliContext,
  repository: Repository,
  thread: string | undefined,
  artifact: Artifact,
  blob?: Uint8Array,
): Promise<NodeHash> {
  const { cas } = scopeOf(cli, repository, thread);
  if (cas) return cas.pin(artifact, blob);
  return putNode(repository, builtIn.artifact, { ...artifact }, { ref: PINS_REF, ...(blob && { blob }) });
}

function parseJson(text: string): JsonValue {
  try {
    // What JSON.parse gives is JSON.
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new UsageError(`with --type the value has to be JSON: ${String(error)}`);
  }
}
