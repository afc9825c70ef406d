import { matcherOf } from './list-remote-refs.ts';
import type { RefMapping } from './ref-mapping.ts';
import type { FetchRequest, IncomingObjects, PushRequest, PushResult, Remote, RemoteRef } from './remote.ts';

/**
 * A remote whose refs have other names than here. Its callers know only the names here; the reasons of refused edits have the
 * remote's words, and so its names.
 */
export class MappedRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly refPrefix: string;
  readonly #remote: Remote;
  readonly #mapping: RefMapping;

  constructor(remote: Remote, mapping: RefMapping) {
    this.name = remote.name;
    this.url = remote.url;
    this.isConfigured = remote.isConfigured;
    this.refPrefix = mapping.prefix;
    this.#remote = remote;
    this.#mapping = mapping;
  }

  async list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    return this.#namedHere(await this.#remote.list(this.#patternsThere(patterns), signal), patterns);
  }

  async fetch(request: FetchRequest): Promise<IncomingObjects> {
    const { refs, except = [], known = [] } = request;
    const incoming = await this.#remote.fetch({
      ...request,
      refs: this.#patternsThere(refs),
      except: except.map((name) => this.#mapping.there(name)),
      known: known.map(({ name, id }) => ({ name: this.#mapping.there(name), id })),
    });
    return { ...incoming, refs: this.#namedHere(incoming.refs, refs) };
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    const edits = request.edits.map((edit) => ({ ...edit, name: this.#mapping.refThere(edit.name) }));
    const there = request.there?.map(({ name, id }) => ({ name: this.#mapping.there(name), id }));
    const results = await this.#remote.push({ ...request, edits, there });
    const names = new Map(request.edits.map(({ name }, at) => [edits[at]?.name, name]));
    return results.map((result) => ({ ...result, name: names.get(result.name) ?? result.name }));
  }

  #patternsThere(patterns: readonly string[]): string[] {
    return [...new Set(patterns.flatMap((pattern) => this.#mapping.patternsThere(pattern)))];
  }

  #namedHere(refs: readonly RemoteRef[], patterns: readonly string[]): RemoteRef[] {
    const isWanted = matcherOf(patterns);
    return refs.flatMap(({ name, id }) => {
      const here = this.#mapping.here(name);
      return here !== undefined && isWanted(here) ? [{ name: here, id }] : [];
    });
  }
}
