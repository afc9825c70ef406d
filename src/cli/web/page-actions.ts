import { limitOptions } from '../../engine/limits/limits.ts';
import type { Repository } from '../../git/repository.ts';
import type { WebActions } from '../../web/site.ts';
import { openEngine } from '../open/open-engine.ts';
import { redactionHere } from '../open/open-redactor.ts';
import { startInBackground } from '../process/background.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** What the page does, in the way of the commands: what runs an agent goes on in a process of its own. */
export function pageActions(cli: CliEnvironment, repository: Repository): WebActions {
  return {
    async resume(thread, { answer, more }) {
      await (await openEngine(cli, repository)).checkResume(thread, { answer, more });
      const limits = limitOptions.flatMap(([name, option]) =>
        more?.[name] === undefined ? [] : [`--${option}=${more[name]}`],
      );
      const redaction = await redactionHere(cli, repository);
      const input = answer && redaction.text(answer);
      const argv = ['thread', 'resume', thread, ...(answer === undefined ? [] : ['--file', '-']), ...limits];
      await startInBackground(cli, repository, thread, argv, input);
    },
  };
}
