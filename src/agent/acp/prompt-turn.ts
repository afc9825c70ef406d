import type { AgentRequest } from '../contract.ts';
import type { GuardedPaths } from '../guarded-paths.ts';
import type { AcpConfig } from './acp-config.ts';
import { DEFAULT_GRACE_MS } from './acp-config.ts';
import { acpEnvironment } from './acp-environment.ts';
import { OwnTools } from './own-tools.ts';
import { PermissionGate } from './permission-gate.ts';
import { Terminals } from './terminals.ts';
import { UpdateReader } from './update-reader.ts';
import type { WorkingFolder } from './working-folder.ts';

/** Where an agent works, and what is kept from it there. */
export type WorkPlace = { folder: WorkingFolder; guard: GuardedPaths };

/** All that one prompt to an agent needs on this side of the protocol, from its sending to its answer. */
export class PromptTurn {
  readonly request: AgentRequest;
  readonly folder: WorkingFolder;
  readonly guard: GuardedPaths;
  readonly reader: UpdateReader;
  readonly gate: PermissionGate;
  readonly terminals: Terminals;
  /** What programs in terminals start with. */
  readonly env: Readonly<Record<string, string>>;
  /** Why the turn has to wait for a person; undefined while it need not. */
  unanswered: string | undefined;

  /** @param onUnanswered told as soon as somebody has to answer and nobody is there */
  constructor(request: AgentRequest, { folder, guard }: WorkPlace, config: AcpConfig, onUnanswered: () => void) {
    this.request = request;
    this.folder = folder;
    this.guard = guard;
    this.env = acpEnvironment(request.env);
    this.terminals = new Terminals(folder, config.graceMs ?? DEFAULT_GRACE_MS, (pgid) =>
      request.emit({ kind: 'process-group', pgid }),
    );
    this.reader = new UpdateReader({
      emit: (event) => request.emit(event),
      nowMs: () => performance.now(),
      terminalOutput: (id) => this.terminals.textOf(id),
    });
    this.gate = new PermissionGate({
      request,
      folder,
      guard,
      ownTools: new OwnTools(config.mcp === false ? undefined : request.stepDir),
      permissions: config.permissions,
      onUnanswered: (reason) => {
        this.unanswered ??= reason;
        onUnanswered();
      },
    });
  }

  /** Tells what was left open, now that the agent has finished. */
  finish(): void {
    this.reader.finish();
    this.gate.finish();
  }
}
