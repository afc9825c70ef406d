import type { Letters } from '../kinds.ts';

/** A line with a secret in it, and the secret. */
export type Form = (secret: string) => string;

export const commands: Record<'first' | 'second', readonly Form[]> = {
  first: [
    (secret) => `mysql -h db -u root -p${secret} shop < dump.sql`,
    (secret) => `mysqldump --single-transaction -uroot -p'${secret}' shop`,
    (secret) => `sshpass -p ${secret} ssh root@10.0.0.3 uptime`,
    (secret) => `sshpass -p '${secret}' scp a root@acme.dev:/tmp`,
    (secret) => `redis-cli -h cache -p 6380 -a ${secret} ping`,
    (secret) => `curl -sS -u deploy:${secret} https://acme.dev/api`,
    (secret) => `curl --user "deploy:${secret}" https://acme.dev/api`,
    (secret) => `PGPASSWORD=${secret} psql -h db -U app main`,
    (secret) => `ldapsearch -x -D cn=admin,dc=acme -w ${secret} -b dc=acme`,
    (secret) => `mongo --host db -u admin -p ${secret} --authenticationDatabase admin`,
    (secret) => `smbclient //nas/share -U 'ACME/me%${secret}'`,
    (secret) => `docker login -u me -p ${secret} registry.acme.dev`,
    (secret) => `Cookie: theme=dark; sessionid=${secret}${secret}; lang=en`,
    (secret) => `Set-Cookie: connect.sid=s%3A${secret}${secret}; Path=/; HttpOnly; Secure`,
    (secret) => `wget --user=me --password=${secret} https://acme.dev/a.zip`,
    (secret) => `machine acme.dev login me password ${secret}`,
    (secret) => `{"headers":{"cookie":"auth=${secret}${secret}"}}`,
    (secret) => `$ mysqladmin -u root --password=${secret} status`,
    (secret) => `subprocess.run(["mysql", "-uroot", "-p${secret}", "shop"])`,
  ],
  second: [
    (secret) => `mysql -uapp -p${secret} -e "select 1"`,
    (secret) => `mariadb -h 10.0.0.2 -u app -p"${secret}" main`,
    (secret) => `sshpass -p${secret} rsync -a x me@host:`,
    (secret) => `redis-cli --no-auth-warning -a '${secret}' info`,
    (secret) => `redis-cli -u redis://default:${secret}@cache:6379`,
    (secret) => `curl -X POST -u "svc:${secret}" https://acme.dev`,
    (secret) => `http -a me:${secret} GET https://acme.dev/me`,
    (secret) => `export PGPASSWORD='${secret}'; pg_dump main`,
    (secret) => `ldapadd -x -D "cn=admin,dc=acme" -w "${secret}" -f a.ldif`,
    (secret) => `mongodump --uri x -u admin -p '${secret}' -o out`,
    (secret) => `smbclient -L nas -U me%${secret}`,
    (secret) => `echo ${secret} | docker login -u me --password-stdin`,
    (secret) => `> Cookie: _ga=GA1.2.3; SESSION=${secret}${secret}`,
    (secret) => `< set-cookie: access_token=${secret}${secret}; Max-Age=3600; SameSite=Lax`,
    (secret) => `lftp -u me,${secret} sftp://acme.dev`,
    (secret) => `machine acme.dev\n\tlogin me\n\tpassword ${secret}\n`,
    (secret) => `-H 'Cookie: jwt=${secret}${secret}'`,
    (secret) => `mysqlimport --user=root -p${secret} --local shop a.txt`,
    (secret) => `execFileSync('sshpass', ['-p', '${secret}', 'ssh', 'root@host'])`,
  ],
};

/** Ways in which each line of a private key is shown with something before it. `n` is the number of the line. */
export const prefixes: Record<'first' | 'second', readonly ((line: string, n: number) => string)[]> = {
  first: [
    (line, n) => `${n}:${line}`,
    (line, n) => `id_rsa:${n}:${line}`,
    (line) => `+${line}`,
    (line) => `> ${line}`,
    (line) => `2031-02-03T04:05:06.789Z app | ${line}`,
    (line, n) => `${String(n).padStart(6)}\t${line}`,
  ],
  second: [
    (line, n) => `keys/server.pem-${n}-${line}`,
    (line, n) => `${String(n).padStart(4)} | ${line}`,
    (line) => `-${line}`,
    (line) => `>> ${line}`,
    (line) => `Feb 03 04:05:06 host app[812]: ${line}`,
    (line, n) => `\u001B[32m${n}\u001B[0m:\u001B[0m${line}`,
  ],
};

const body = (letters: Letters, lines: number): string[] => [
  ...Array.from({ length: lines }, () => letters.base64(64)),
  `${letters.base64(30)}==`,
];

/** The lines of a private key. */
export function keyLines(label: string, letters: Letters, lines: number): string[] {
  return [`-----BEGIN ${label}-----`, ...body(letters, lines), `-----END ${label}-----`];
}
