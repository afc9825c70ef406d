import type { ClientApp, RequestError as RequestErrorType } from '@agentclientprotocol/sdk/unstable';

import type { Access } from '../files/guarded-paths.ts';
import { PathFault } from '../files/open-unmoved.ts';
import { isJsonObject } from '../../json.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { deedOfReading, deedOfRunning, deedOfWriting, type Deed } from './permissions/deed.ts';
import type { PromptTurn } from './prompt-turn.ts';
import { NotPermitted } from './permissions/permission-gate.ts';
import { loadSdk } from './acp-config.ts';
import { errnoOf } from '../../git/format/object-errors.ts';

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
  const pass = async (turn: PromptTurn, deed: Deed): Promise<void> => {
    await turn.gate.pass(deed);
    // The agent may have ended its turn while a person was asked.
    if (currentTurn() !== turn) throw new NotPermitted('the turn has ended');
  };
  return client({ name: 'uwf' })
    .onRequest('session/request_permission', ({ params }) =>
      answer('request_permission', async ({ reader, gate }) => {
        const call: unknown = params.toolCall;
        const asked = reader.readAskedCall(isJsonObject(call) ? call : {});
        return { outcome: await gate.answer(asked, params.options) };
      }),
    )
    .onRequest('fs/read_text_file', ({ params }) =>
      answer(`read ${params.path}`, async (turn) => {
        const path = await findFile(turn, params.path, 'read');
        await pass(turn, deedOfReading(path));
        const { line, limit } = params;
        return { content: linesOf(await turn.folder.guard.readText(path), line ?? 1, limit ?? undefined) };
      }),
    )
    .onRequest('fs/write_text_file', ({ params }) =>
      answer(`write ${params.path}`, async (turn) => {
        const path = await findFile(turn, params.path, 'write');
        await pass(turn, deedOfWriting(path, params.content));
        await turn.folder.guard.write(path, params.content);
        return {};
      }),
    )
    .onRequest('terminal/create', ({ params }) => {
      const { command, args = [], env = [], cwd, outputByteLimit } = params;
      return answer(`run ${[command, ...args].join(' ')}`, async (turn) => {
        const folder = await turn.folder.resolveInside(cwd ?? '.');
        const added = Object.fromEntries(env.map(({ name, value }) => [name, value]));
        await pass(turn, deedOfRunning({ argv: [command, ...args], cwd: folder, env: added }));
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
async function findFile({ folder }: PromptTurn, path: string, access: Access): Promise<string> {
  const real = await folder.resolveInside(path);
  folder.guard.assertNotRefused(real, access);
  return real;
}

/** What the agent is told of a failure, in the protocol's codes; what breaks a rule is told as a refusal as well. */
function errorForAgent(error: unknown, what: string, turn: PromptTurn, Errors: typeof RequestErrorType): Error {
  if (error instanceof PathFault && error.kind !== 'unreadable') {
    turn.gate.refuse(`${error.kind === 'outside' ? 'kept in the working folder' : error.message}: ${what}`);
  }
  if (error instanceof PathFault || error instanceof NotPermitted || error instanceof RangeError) {
    return Errors.invalidParams(undefined, error.message);
  }
  if (error instanceof UwfError) return Errors.internalError(undefined, error.message);
  if (errnoOf(error) === 'ENOENT') {
    const { path } = isJsonObject(error) ? error : {};
    return Errors.resourceNotFound(typeof path === 'string' ? path : undefined);
  }
  return Errors.internalError(undefined, messageOf(error));
}

/** @param first the number of the first line, from 1 */
function linesOf(text: string, first: number, limit: number | undefined): string {
  if (first <= 1 && limit === undefined) return text;
  const start = Math.max(first, 1) - 1;
  const lines = text.split(/(?<=\n)/u);
  return lines.slice(start, limit === undefined ? undefined : start + limit).join('');
}
