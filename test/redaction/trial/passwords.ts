import { Letters } from '../kinds.ts';
import type { Context } from './contexts.ts';

/** Passwords as people choose them: words, names, years, signs. */
const chosen = {
  first:
    'correct-horse hunter2 Winter2031! letmein123 S3cr3t! dragonfly Tr0ub4dor&3 iloveyou sunshine99 qwertz12 Passw0rd! blue.whale.42 Munich#1972 kangaroo tiger*lily 8675309 abc123xyz P@ssw0rd mellon swordfish opensesame Zebra_77 k1ttens! maple-syrup 1q2w3e4r ninja$turtle Frodo&Sam batterystaple rosebud rainy.day',
  second:
    'purple-monkey trustno1 Summer2030? monkey77 Adm1n!2030 butterfly Corvette#64 ilovecats starwars9 asdf9876 W3lcome! green.tea.7 Lisbon@1755 wombat coffee%bean 5551212 zxc789vbn Pa55word! friend joshua opensaysme Otter_31 d0lphins! hotdog-stand 0p9o8i7u bonnie$clyde Tom&Jerry staplebattery citizenkane foggy.night',
};

const words = {
  first: 'amber river stone falcon piano lemon copper winter harbor rocket velvet cactus'.split(' '),
  second: 'cobalt meadow anchor magpie violin pepper bronze autumn canyon engine cotton walnut'.split(' '),
};

const names = {
  first:
    'DB_PASSWORD DB_PASS ADMIN_PW REDIS_PASS MYSQL_ROOT_PASSWORD smtp_passwd db_pwd dbPassword adminPassword PASSPHRASE KEYSTORE_PASS password passwd pwd user.password spring.datasource.password',
  second:
    'POSTGRES_PASSWORD MAIL_PASS ROOT_PW LDAP_BIND_PASSWORD SUDO_PASS ftp_passwd sa_pwd userPassword rabbitPassword KEY_PASSPHRASE STORE_PASSWORD Password db.passwd login_pwd jdbc.password mongo-password',
};

/** A password that a person could have chosen, under a name that says so. */
export function passwordsOf(set: 'first' | 'second', count: number): { name: string; secret: string }[] {
  const letters = new Letters(set === 'first' ? 77 : 99);
  const [some, word, name] = [chosen[set].split(' '), words[set], names[set].split(' ')];
  const oneOf = (list: readonly string[]): string => list[letters.below(list.length)] ?? '';
  return Array.from({ length: count }, (_, at) => {
    const made = [
      oneOf(word),
      oneOf(['-', '_', '.', '', '!', '#', '+']),
      oneOf(word),
      oneOf(['', '7', '42', '!', '2031']),
    ];
    return { name: name[at % name.length] ?? '', secret: some[at] ?? made.join('') };
  });
}

const inXml = (text: string): string => text.replaceAll('&', '&amp;');

/** Eight notations, and what people write on command lines. */
export const notations: Record<string, Context> = {
  environment: (secret, name) => `HOST=db\n${name}=${secret}\nPORT=5432\n`,
  shell: (secret, name) => `#!/bin/sh\nexport ${name}='${secret}'\nrun\n`,
  YAML: (secret, name) =>
    `db:\n  user: app\n  ${name}: ${/[#&*!%@`]/u.test(secret) ? `"${secret}"` : secret}\n  port: 5432\n`,
  JSON: (secret, name) => JSON.stringify({ user: 'app', [name]: secret, port: 5432 }, undefined, 2),
  properties: (secret, name) => `app.user=app\napp.${name} = ${secret}\n`,
  XML: (secret, name) => `<db>\n  <user>app</user>\n  <${name}>${inXml(secret)}</${name}>\n</db>\n`,
  TOML: (secret, name) => `[db]\n${name.includes('.') ? `"${name}"` : name} = "${secret}"\n`,
  code: (secret, name) => `const options = { user: 'app', '${name}': '${secret}' };\n`,
  attribute: (secret, name) => `<connection user="app" ${name}="${inXml(secret)}"/>\n`,
  'XML property': (secret, name) => `<property name="${name}" value="${inXml(secret)}"/>\n`,
  INI: (secret, name) => `[client]\nuser = app\n${name} = ${secret}\n`,
  option: (secret, name) => `connect --user app --${name.toLowerCase().replaceAll('_', '-')}='${secret}' --tls\n`,
  docker: (secret, name) => `docker run -e ${name}='${secret}' -d acme/db\n`,
  'connection string': (secret, name) => `Server=db;Uid=app;${name}=${secret};Database=main;\n`,
  query: (secret, name) => `POST /login?user=app&${name}=${encodeURIComponent(secret)}&x=1\n`,
  'JSON in JSON': (secret, name) => JSON.stringify({ body: JSON.stringify({ [name]: secret }) }),
};

/** What stands for a password where there is none. No password contains a blank. */
export const placeholders: string =
  `changeme change-me CHANGE_ME changeit \${X} \${DB_PASSWORD} \${DB_PASSWORD:-} $X $DB_PASSWORD %X% %DB_PASSWORD% {{x}} {{password}} {{.Values.db.password}} ` +
  `<password> <your-password> <YOUR_PASSWORD> [password] ******** *** •••••• ... … xxxx xxxxxxxx XXXXXXXX password PASSWORD Password passwd your-password your_password yourpassword ` +
  `your-password-here YOUR_PASSWORD_HERE my-password mypassword example placeholder dummy redacted REDACTED [REDACTED] <redacted> hidden masked none None null NULL nil undefined true false ` +
  `process.env.DB_PASSWORD process.env['DB_PASSWORD'] os.environ["DB_PASSWORD"] os.environ.get("DB_PASSWORD") os.getenv("X") ENV['X'] ENV.fetch("X") System.getenv("X") getpass() getPassword() ` +
  `readPassword(), options.password config.password, this.password self.password args.password user.password; req.body.password string str String string; str, String, &str Option<String> ` +
  `z.string() Joi.string().required() String! required optional @password :password #{password} #{ENV["X"]} \${{secrets.DB_PASSWORD}} !env !vault !secret !ref file:/run/secrets/db vault:secret/data/db#password ` +
  `$(cat /run/secrets/x) \`cat\` secret test TODO TBD FIXME insert-password-here ENTER_PASSWORD replace-me REPLACE_ME todo`;

/** Notations in which a placeholder may stand as it is. */
export const plainNotations: Record<string, Context> = {
  environment: (value, name) => `HOST=db\n${name}=${value}\n`,
  'environment in quotes': (value, name) => `export ${name}="${value.replaceAll('"', "'")}"\n`,
  YAML: (value, name) => `db:\n  ${name}: ${value}\n  port: 1\n`,
  JSON: (value, name) => JSON.stringify({ [name]: value }),
  code: (value, name) => `  ${name}: ${value}\n`,
  assignment: (value, name) => `${name} = ${value};\n`,
  XML: (value, name) => `<${name}>${value}</${name}>\n`,
};

/** Lines with no password in them. */
export const harmless: readonly string[] = [
  'password=',
  'PASSWORD=""',
  "DB_PASS=''",
  '{"password": "", "pwd": null}',
  'password: |',
  'password: >-',
  '<password></password>',
  '<password/>',
  'pwd=/home/me/project',
  'cwd: process.cwd(), pwd: "/var/lib"',
  'PWD=/root/work OLDPWD=/root',
  'type Login = { user: string; password: string; passwd?: string | undefined };',
  'function login(user: string, password: string): Promise<void> {',
  'def connect(host, user, password=None, passwd=None):',
  'def connect(host: str, password: str = "") -> None:',
  'func Login(user, password string) error {',
  'private String password;',
  'let password = prompt("Password: ");',
  'const password = await readPassword(file);',
  'password = getpass.getpass("Password: ")',
  'if (password === confirm) return;',
  'if password == other.password {',
  "type: 'password', label: 'Password'",
  '<input type="password" name="password" placeholder="Password" autocomplete="current-password">',
  '"password": "Passwort", "forgotPassword": "Passwort vergessen?"',
  'password: Your password is too short',
  'The password: it has to be changed.',
  'Enter password: ',
  'Password for user app: ',
  "psql: error: password authentication failed for user 'app'",
  'bool bypass = true; int compass = north; bypass: enabled',
  'passed=12 failed=3 pass: 12 fail: 0',
  'pass: 2, pass=true, PASS: test/a.test.ts, PASS=ok',
  'compass=north trespass: never',
  'password_hash: $2b$12$abcdefghijklmnopqrstuvwx',
  'passwordField: "input", passwordLength=12, password_policy: strict, password-reset: enabled',
  'minPasswordLength: 8, showPassword: false, resetPassword: reset, hasPassword=true',
  'PasswordAuthentication no',
  'password-stdin',
  'cat /etc/passwd',
  'passwd: files systemd',
  'password requisite pam_pwquality.so retry=3',
  'auth password optional',
  'const { password } = req.body; save({ password });',
  'password => hash(password)',
  '--password <text>   the password of the user',
  '--password-file=FILE',
  'https://acme.dev/reset?password=1',
  'mysql -p shop < dump.sql',
  'mysql -u root -p$MYSQL_PASSWORD shop',
  'mysql -u root -p"${PASS}" shop',
  'mkdir -p build/out && cp -p a b',
  'docker run -p 8080:80 acme/app',
  'ssh -p 2222 me@acme.dev',
  'redis-cli -a "$REDIS_PASS" ping',
  'redis-cli -p 6379 ping',
  'sshpass -p "$PASS" ssh me@host',
  'sshpass -e ssh me@host',
  'curl -u "$USER:$PASS" https://acme.dev',
  'Cookie: <cookie>',
  'Set-Cookie: theme=dark; Path=/',
  'Cookie: lang=en; theme=dark',
];
