// What a program that embeds uwf may look like: compiled strictly and run against the packed package.
import {
  createEngine,
  createWebHandler,
  engineActions,
  getThread,
  loadConfig,
  openRepository,
  readThread,
  resolveWorkflow,
  UwfError,
  type Agent,
  type AgentPackage,
  type EngineEvent,
} from 'uwf';
import type { AgentContract } from 'uwf/agent-contract';

const parrot: Agent = {
  run({ prompt }) {
    return Promise.resolve({ kind: 'reply', text: prompt });
  },
};

export const packageOfParrot: AgentPackage = {
  packageDescriptor: { name: 'uwf-agent-parrot', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } },
  createAgent: () => parrot,
};

export type ContractOfParrot = Pick<AgentContract, 'config'>;

/** Runs a workflow in a repository. Returns how many steps it took. */
export async function main(folder: string, workflow: string): Promise<number> {
  const repository = await openRepository(folder, { committer: { name: 'Ada', email: 'ada@example.org' } });
  const events: EngineEvent['event'][] = [];
  const onEvent = ({ event }: EngineEvent): unknown => events.push(event);
  const engine = createEngine({ repository, config: await loadConfig(repository), onEvent });
  const { definition } = await resolveWorkflow(repository, workflow, { cwd: folder });
  const { thread } = await engine.start({ definition, prompt: 'The task.' });
  await engine.run(thread);
  const { head } = await getThread(repository, thread);
  const { steps } = await readThread(repository, thread, head);
  const page = createWebHandler(repository, { secret: { token: 'x' }, actions: engineActions(repository, engine) });
  const login: Response = await page(new Request('http://localhost/login', { headers: { host: 'localhost' } }));
  if (!(await login.text()).includes('uwf')) throw new Error(`the page answers ${login.status}`);
  const error = await getThread(repository, 'nothing').catch((error: unknown) => error);
  await repository.close();
  if (!(error instanceof UwfError) || error.code !== 'thread-not-found') throw new Error('not an error of uwf');
  if (events.length === 0) throw new Error('no events');
  return steps.length;
}
