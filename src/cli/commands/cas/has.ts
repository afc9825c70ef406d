import { UwfError } from '../../../errors.ts';
import { defineCommand, type Command } from '../../command.ts';
import { EXIT } from '../../exit-code.ts';
import { openToRead } from '../../open-repository.ts';
import { scopeOf, threadOption } from '../../thread-scope.ts';

export const command: Command = defineCommand({
  summary: 'tell whether a node is there',
  description: `Says nothing but by its exit code, unless --json asks for more.`,
  arguments: [{ name: 'hash', summary: "the node's hash, or its first characters" }],
  options: { thread: threadOption },
  json: {
    shape: 'object',
    fields: { hash: "the node's hash", exists: 'whether it is there', oid: 'the git object that it lies in, or null' },
  },
  examples: [{ command: 'uwf cas has 3F2V04Y8ZNQWE && echo yes', comment: 'in a script' }],
  exitCodes: { 0: 'it is there', 1: 'it is not' },
  async run({ args, options, cli, out }) {
    const { nodes, find } = scopeOf(cli, await openToRead(cli), options.thread);
    const hash = await find(args.hash).catch((error: unknown) => {
      // Nothing that begins so: then it is not there either.
      if (error instanceof UwfError && error.code === 'usage' && args.hash.length < 13) return undefined;
      throw error;
    });
    const node = hash === undefined ? undefined : await nodes.find(hash);
    await out.result({ hash: hash ?? args.hash, exists: node !== undefined, oid: node?.oid ?? null }, () => '');
    return node === undefined ? EXIT.failed : EXIT.done;
  },
});
