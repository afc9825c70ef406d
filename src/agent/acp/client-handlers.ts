import type { ClientApp, RequestError as RequestErrorType } from '@agentclientprotocol/sdk/unstable';

import { PathRefused } from '../guarded-paths.ts';
import type { Access } from '../guarded-paths.ts';
import { PathMoved } from '../open-unmoved.ts';
import { isJsonObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { UwfError } from '../../errors.ts';
import { deedOfReading, deedOfRunning, deedOfWriting } from './deed.ts';
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
        return { outcome: await gate.answer(reader.readAskedCall(asJson(params.toolCall)), params.options) };
      }),
    )
    .onRequest('fs/read_text_file', ({ params }) =>
      answer(`read ${params.path}`, async (turn) => {
        const path = await findFile(turn, params.path, 'read');
        await turn.gate.pass(deedOfReading(path));
        const { line, limit } = params;
        return { content: await readTextFile(turn.guard, path, { line: line ?? 1, limit: limit ?? undefined }) };
      }),
    )
    .onRequest('fs/write_text_file', ({ params }) =>
      answer(`write ${params.path}`, async (turn) => {
        const path = await findFile(turn, params.path, 'write');
        await turn.gate.pass(deedOfWriting(path, params.content));
        await writeTextFile(turn.guard, path, params.content);
        return {};
      }),
    )
    .onRequest('terminal/create', ({ params }) => {
      const { command, args = [], env = [], cwd, outputByteLimit } = params;
      return answer(`run ${[command, ...args].join(' ')}`, async (turn) => {
        const folder = await turn.folder.resolveInside(cwd ?? '.');
        const added = Object.fromEntries(env.map(({ name, value }) => [name, value]));
        await turn.gate.pass(deedOfRunning({ argv: [command, ...args], cwd: folder, env: added }));
        const terminalId = await turn.terminals.create({
          command,
          args,
          env: { ...turn.env, ...added },
          cwd: folder,
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

/** The real path of a file that uwf may reach for the agent, if that is permitted. */
async function findFile({ folder, guard }: PromptTurn, path: string, access: Access): Promise<string> {
  const real = await folder.resolveInside(path);
  // No word of a person lets uwf do this.
  if (guard.verdictOn(real, access) === 'refused') throw new PathRefused(real);
  return real;
}

/** What the agent is told of a failure, in the protocol's codes; what breaks a rule is told as a refusal as well. */
function errorForAgent(error: unknown, what: string, turn: PromptTurn, Errors: typeof RequestErrorType): Error {
  if (error instanceof OutsideFolder || error instanceof PathRefused || error instanceof PathMoved) {
    const why = error instanceof OutsideFolder ? 'kept in the working folder' : error.message;
    turn.gate.refuse(`${why}: ${what}`);
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
