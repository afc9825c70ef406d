import { describe, expectTypeOf, test } from 'vitest';
import {
  createEngine,
  decide,
  fetchThreads,
  forkThread,
  getThread,
  loadConfig,
  loadWorkflow,
  loadWorkflowFile,
  openRemote,
  openRepository,
  parseThreadId,
  pushThreads,
  putNode,
  readThread,
  resolveWorkflow,
  UwfError,
  validate,
  verifyThread,
  walk,
} from '../../src/index.ts';
import type {
  Agent,
  AgentEvent,
  AgentPackage,
  AgentReply,
  AgentRequest,
  Config,
  Engine,
  EngineEvent,
  JsonObject,
  NodeHash,
  Repository,
  ThreadId,
  ThreadView,
  WorkflowDefinition,
} from '../../src/index.ts';

// The compiler checks these (`npm run types`); running them does nothing.
describe('what a program that embeds uwf writes has the types that its author expects', () => {
  test('repositories', () => {
    expectTypeOf(openRepository).toBeCallableWith('.');
    expectTypeOf(openRepository).toBeCallableWith('.', { committer: { name: 'A', email: 'a@b' }, env: process.env });
    expectTypeOf(openRepository).returns.resolves.toEqualTypeOf<Repository>();
    expectTypeOf<Repository>().toHaveProperty('close');
  });

  test('the engine', () => {
    expectTypeOf(loadConfig).returns.resolves.toEqualTypeOf<Config>();
    expectTypeOf(createEngine).returns.toEqualTypeOf<Engine>();
    expectTypeOf<Parameters<typeof createEngine>[0]>().toExtend<{ repository: Repository; config: Config }>();
    expectTypeOf<Engine['start']>().returns.resolves.toEqualTypeOf<ThreadView>();
    expectTypeOf<Engine['run']>().toBeCallableWith('01ABC');
    expectTypeOf<Engine['run']>().returns.resolves.toHaveProperty('status');
    // A switch over the names of events narrows them.
    expectTypeOf<Extract<EngineEvent, { event: 'step.finished' }>>().not.toBeNever();
  });

  test('workflows', () => {
    expectTypeOf(loadWorkflow).returns.resolves.toEqualTypeOf<WorkflowDefinition>();
    expectTypeOf(resolveWorkflow).returns.resolves.toHaveProperty('definition').toEqualTypeOf<WorkflowDefinition>();
    // With mistakes there is no definition.
    expectTypeOf(loadWorkflowFile)
      .returns.resolves.toHaveProperty('definition')
      .toEqualTypeOf<WorkflowDefinition | undefined>();
    expectTypeOf(decide).returns.resolves.toHaveProperty('kind');
  });

  test('threads and nodes', () => {
    expectTypeOf(getThread).toBeCallableWith({} as Repository, '01ABC');
    expectTypeOf(readThread).parameter(1).toEqualTypeOf<ThreadId>();
    expectTypeOf(readThread).returns.resolves.toHaveProperty('steps');
    expectTypeOf(verifyThread).toBeCallableWith({ repository: {} as Repository }, '01ABC');
    expectTypeOf(verifyThread).returns.resolves.toHaveProperty('findings');
    expectTypeOf(forkThread).returns.resolves.toHaveProperty('thread').toEqualTypeOf<ThreadId>();
    expectTypeOf(putNode).returns.resolves.toEqualTypeOf<NodeHash>();
    expectTypeOf(validate).returns.resolves.toHaveProperty('valid').toEqualTypeOf<boolean>();
    expectTypeOf(walk).returns.toExtend<AsyncIterable<{ hash: NodeHash }>>();
    // Text is not an id until it was parsed.
    expectTypeOf<string>().not.toExtend<ThreadId>();
    expectTypeOf(parseThreadId).returns.toEqualTypeOf<ThreadId>();
  });

  test('sharing', () => {
    expectTypeOf(openRemote).returns.resolves.toHaveProperty('fetch');
    expectTypeOf(fetchThreads).returns.resolves.toHaveProperty('threads');
    expectTypeOf(pushThreads).parameter(0).toEqualTypeOf<{ repository: Repository }>();
    expectTypeOf(pushThreads).returns.resolves.toHaveProperty('threads');
  });

  test('agents', () => {
    const agent = {
      run: ({ prompt, emit }: AgentRequest) => {
        emit({ kind: 'text', text: 'thinking' });
        return Promise.resolve({ kind: 'reply' as const, text: prompt, meta: { $status: 'done' } });
      },
    };
    expectTypeOf(agent).toExtend<Agent>();
    const agentPackage = {
      packageDescriptor: { name: 'mine', version: '1.0.0', capabilities: ['sessions'], configSchema: {} },
      createAgent: (config: JsonObject) => (config['model'] === undefined ? agent : Promise.resolve(agent)),
    };
    expectTypeOf(agentPackage).toExtend<AgentPackage>();
    expectTypeOf<AgentReply['kind']>().toEqualTypeOf<'reply' | 'suspend' | 'failed-attempt'>();
    expectTypeOf<AgentRequest>().toHaveProperty('signal').toEqualTypeOf<AbortSignal>();
    expectTypeOf<AgentEvent>().toHaveProperty('kind');
  });

  test('errors', () => {
    expectTypeOf(UwfError).instance.toExtend<Error>();
    expectTypeOf(UwfError).instance.toHaveProperty('code').toEqualTypeOf<string>();
    expectTypeOf(UwfError).instance.toHaveProperty('kind').toExtend<string>();
  });
});
