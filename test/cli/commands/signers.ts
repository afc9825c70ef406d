import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createTemporaryFolder, type TemporaryRepository } from '../../helpers/temporary-repository.ts';

/** Lets git sign commits with an SSH key of its own, which it trusts. */
export function signBySsh({ git }: TemporaryRepository): void {
  const key = join(createTemporaryFolder(), 'key');
  const { status, stderr } = spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  writeFileSync(`${key}.allowed`, `committer@example.com ${readFileSync(`${key}.pub`, 'utf8')}`);
  git('config', 'commit.gpgSign', 'true');
  git('config', 'gpg.format', 'ssh');
  git('config', 'user.signingKey', `${key}.pub`);
  git('config', 'gpg.ssh.allowedSignersFile', `${key}.allowed`);
}

/**
 * Lets git sign commits with a program in place of gpg, which says how often it ran.
 *
 * @param script what a shell runs before it signs; `$n` is 1 in its first run
 */
export function signByProgram({ git }: TemporaryRepository, script: string = ''): () => number {
  const folder = createTemporaryFolder();
  const [program, count] = [join(folder, 'signer'), join(folder, 'count')];
  writeFileSync(count, '');
  writeFileSync(
    program,
    `#!/bin/sh
cat >/dev/null
echo >>'${count}'
n=$(wc -l <'${count}')
${script}
echo '[GNUPG:] SIG_CREATED D 1 2 00 0 0' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'
`,
  );
  chmodSync(program, 0o755);
  git('config', 'commit.gpgSign', 'true');
  git('config', 'gpg.program', program);
  return () => readFileSync(count, 'utf8').length;
}
