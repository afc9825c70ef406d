import type { Html } from '../html.ts';
import { Document } from '../parts/layout.tsx';

type LoginProps = {
  /** The page to go to, a path of this server. */
  to: string;
  byPassword: boolean;
  /** After a wrong token or password. */
  isWrong?: boolean;
};

/**
 * Asks for the token of the printed address, or for the password. With JavaScript the token is taken from the address's
 * fragment, which a browser sends to no server.
 */
export function LoginPage({ to, byPassword, isWrong = false }: LoginProps): Html {
  const [name, help, wrong] = byPassword
    ? ['Password', 'The password that uwf web was started with.', 'That is not the password.']
    : [
        'Token',
        'The part behind #token= of the address that uwf web printed.',
        'That is not the token. uwf web prints a new one each time it starts.',
      ];
  return (
    <Document title="Log in · uwf">
      <main id="main" class="alone">
        <h1>Log in</h1>
        <form method="post" action="/login" id="login">
          <input type="hidden" name="to" value={to} />
          <label for="secret">{name}</label>
          <input
            id="secret"
            name="secret"
            type="password"
            autocomplete={byPassword ? 'current-password' : 'off'}
            required
            aria-describedby="secret-help"
          />
          <p id="secret-help" class="quiet">
            {help}
          </p>
          {isWrong && (
            <p class="refusal" role="alert">
              {wrong}
            </p>
          )}
          <button type="submit">Log in</button>
        </form>
      </main>
    </Document>
  );
}
