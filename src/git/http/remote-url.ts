import type { BasicCredentials } from './http-connection.ts';

/** A URL, without who is let in by it. */
export type RemoteUrl = { url: string; credentials: BasicCredentials | undefined };

/** Takes user name and password out of a URL. @throws {TypeError} if it is no URL */
export function splitCredentials(text: string): RemoteUrl {
  const url = new URL(text);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  url.hash = '';
  return {
    url: url.href.replace(/\/+$/, ''),
    credentials:
      username === '' && password === ''
        ? undefined
        : { username: decodePercent(username), password: decodePercent(password) },
  };
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
