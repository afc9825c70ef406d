import type { ClientApp, RequestError as RequestErrorType } from '@agentclientprotocol/sdk/unstable';

import { isJsonObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { UwfError } from '../../errors.ts';
import type { PromptTurn } from './prompt-turn.ts';
import { readTextFile, writeTextFile } from './text-files.ts';
import { Refused } from './permission-gate.ts';
import { OutsideFolder } from './working-folder.ts';
import { loadSdk } from './load-sdk.ts';

/**
 * Makes the client's half of the protocol: permissions, files and terminals, each answered on behalf of the turn at hand.
 *
 * A request that comes when no turn is, before the prompt or after its end, is refused.
 */
export async function createClientApp(currentTurn: () => PromptTurn | undefined): Promise<ClientApp> {
  const { client, RequestError } = await loadSdk();
  const answer = async <Answer>(what: string, work: (turn: PromptTurn) => Promise<Answer>): Promise<Answer> => {
    const turn = currentTurn();
    if (turn === undefined) throw RequestError.invalidRequest(undefined, `no turn is going on: ${what}`);
    try {
      return await work(turn);
    } catch (error) {
      throw errorForAgent(error, what, turn, RequestError);
    }
  };
  return client({ name: 'uwf' })
    .onRequest('session/request_permission', ({ params }) =>
      answer('request_permission', async ({ reader, gate }) => {
        const call = reader.readToolCall(asJson(params.toolCall));
        reader.announce(call);
        return { outcome: await gate.answer(call, params.options) };
      }),
    )
    .onRequest('fs/read_text_file', ({ params }) =>
      answer(`read ${params.path}`, async (turn) => {
        await turn.folder.resolveInside(params.path);
        await turn.gate.pass({ kind: 'read', paths: [params.path] }, `read ${params.path}`);
        const { line, limit } = params;
        return {
          content: await readTextFile(turn.folder, params.path, { line: line ?? 1, limit: limit ?? undefined }),
        };
      }),
    )
    .onRequest('fs/write_text_file', ({ params }) =>
      answer(`write ${params.path}`, async (turn) => {
        await turn.folder.resolveInside(params.path);
        await turn.gate.pass({ kind: 'edit', paths: [params.path] }, `write ${params.path}`);
        await writeTextFile(turn.folder, params.path, params.content);
        return {};
      }),
    )
    .onRequest('terminal/create', ({ params }) => {
      const { command, args = [], env = [], cwd, outputByteLimit } = params;
      const line = [command, ...args].join(' ');
      return answer(`run ${line}`, async (turn) => {
        await turn.folder.resolveInside(cwd ?? '.');
        await turn.gate.pass({ kind: 'execute', paths: [] }, `run ${line}`);
        const added = Object.fromEntries(env.map(({ name, value }) => [name, value]));
        const terminalId = await turn.terminals.create({
          command,
          args,
          env: { ...turn.env, ...added },
          cwd: cwd ?? undefined,
          outputByteLimit: outputByteLimit ?? undefined,
        });
        return { terminalId };
      });
    })
    .onRequest('terminal/output', ({ params }) =>
      answer('terminal/output', async ({ terminals }) => terminals.output(params.terminalId)),
    )
    .onRequest('terminal/wait_for_exit', ({ params }) =>
      answer('terminal/wait_for_exit', ({ terminals }) => terminals.waitForExit(params.terminalId)),
    )
    .onRequest('terminal/kill', ({ params }) =>
      answer('terminal/kill', async ({ terminals }) => {
        await terminals.kill(params.terminalId);
        return {};
      }),
    )
    .onRequest('terminal/release', ({ params }) =>
      answer('terminal/release', async ({ terminals }) => {
        await terminals.release(params.terminalId);
        return {};
      }),
    );
}

/** What the agent is told of a failure, in the protocol's codes; what breaks a rule is told as a refusal as well. */
function errorForAgent(error: unknown, what: string, turn: PromptTurn, Errors: typeof RequestErrorType): Error {
  if (error instanceof OutsideFolder) {
    turn.gate.refuse(`kept in the working folder: ${what}`);
    return Errors.invalidParams(undefined, error.message);
  }
  if (error instanceof Refused || error instanceof RangeError) return Errors.invalidParams(undefined, error.message);
  if (error instanceof UwfError) return Errors.internalError(undefined, error.message);
  // NodeJS adds `code` to every error of a system call.
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return Errors.resourceNotFound(path);
  return Errors.internalError(undefined, error instanceof Error ? error.message : String(error));
}

function asJson(value: object): JsonObject {
  // It was parsed from JSON, by the SDK.
  const json = value as JsonValue;
  return isJsonObject(json) ? json : {};
}
