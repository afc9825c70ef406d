import { type Html, Page, PageLink } from '../parts/page.tsx';
import { plural } from '../../text/wording.ts';
import { UwfError } from '../../errors.ts';
import { getThread } from '../../thread/find-thread.ts';
import { type DiffStep, diffThreads, filesOfStep, type StepPair, type ThreadDiff } from '../../thread/step-files.ts';
import { type DiffRow, type FileChanges, FileChangesPanel, lineRows, readFileChanges } from '../parts/file-changes.tsx';
import { stateOf } from '../live/live.ts';
import { PlainText } from '../parts/said-text.tsx';
import type { Site, Visit } from '../site.ts';

/** So many steps that differ are shown with their texts. */
const MAX_PAIRS = 50;
/** Longer texts are not compared by line. */
const MAX_TEXT = 100_000;
const MAX_ROWS = 1_000;

/** Two threads side by side, from where they part; the range is `<thread>..<thread>`. */
export async function diffPage({ site }: Visit, range: string): Promise<Html> {
  const { repository } = site.engine;
  const [one, other, ...rest] = range.split('..');
  if (!one || !other || rest.length > 0) {
    const hint = 'name two threads: /diff/<thread>..<thread>';
    throw new UwfError(`'${range}' names no two threads`, { code: 'usage', kind: 'usage', hint });
  }
  const [left, right] = [await getThread(repository, one), await getThread(repository, other)];
  const topic = `${left.id}..${right.id}`;
  // Read first: a change while the page is made is told then.
  const state = await stateOf(site.engine, topic);
  const diff = await diffThreads(repository, left, right);
  const { ancestor, steps, firstDifference } = diff;
  const files = await readFiles(site, diff);
  const differing = steps.filter(({ isSame }) => !isSame);
  return (
    <Page site={site} title={`${diff.a} and ${diff.b}`} live={{ topic, state }} isWide>
      <h1>Two threads</h1>
      <p>
        {ancestor
          ? `Both have ${plural(ancestor.number, 'step')} in common, up to commit ${ancestor.head.slice(0, 12)}.`
          : 'They share no commit.'}{' '}
        {firstDifference === null &&
          (steps.length === 0 ? 'Neither has gone on.' : 'What each did after that is the same.')}
      </p>
      <div class="beside titles">
        <PageLink href={`/t/${diff.a}`}>{diff.a}</PageLink>
        <PageLink href={`/t/${diff.b}`}>{diff.b}</PageLink>
      </div>
      {steps.map((pair) => (
        <Pair diff={diff} pair={pair} isShown={differing.indexOf(pair) < MAX_PAIRS} />
      ))}
      {files && (
        <section aria-labelledby="files">
          <h2 id="files">
            Files <span class="count">{files.files.length + files.others}</span>
          </h2>
          <p class="quiet">How the files of the second differ from those of the first.</p>
          <FileChangesPanel changes={files} />
        </section>
      )}
    </Page>
  );
}

/** How the files that both have left differ; `undefined` where they recorded none. */
async function readFiles({ engine }: Site, { files }: ThreadDiff): Promise<FileChanges | undefined> {
  if (files === null || engine.repository.location === undefined) return undefined;
  const before = await filesOfStep(engine.repository, files.a);
  return before && (await readFileChanges(engine, before.tree, files.b));
}

type PairProps = { diff: ThreadDiff; pair: StepPair; isShown: boolean };

function Pair({ diff, pair: { number, a, b, isSame }, isShown }: PairProps): Html {
  const role = a?.role === b?.role || b === null ? a?.role : a === null ? b.role : `${a.role} and ${b.role}`;
  const id = `step-${number}`;
  return (
    <section class="pair" aria-labelledby={id}>
      <h2 id={id}>
        {number}. {role} {isSame && <span class="quiet">the same in both</span>}
      </h2>
      {!isSame && (
        <>
          <p class="beside">
            <Side thread={diff.a} number={number} step={a} />
            <Side thread={diff.b} number={number} step={b} />
          </p>
          {isShown ? (
            <Texts a={a} b={b} />
          ) : (
            <p class="quiet">
              Not shown here: <code>{`uwf thread diff ${diff.a} ${diff.b} --all`}</code>
            </p>
          )}
        </>
      )}
    </section>
  );
}

function Side({ thread, number, step }: { thread: string; number: number; step: DiffStep | null }): Html {
  if (step === null) return <span class="quiet">has no step {number}</span>;
  return (
    <PageLink href={`/t/${thread}/${step.step}`}>
      Step {number}: {step.role}
      {step.status !== null && `, ${step.status}`}
    </PageLink>
  );
}

function Texts({ a, b }: { a: DiffStep | null; b: DiffStep | null }): Html {
  const [left, right] = [wholeText(a), wholeText(b)];
  const rows = left.length + right.length > MAX_TEXT ? undefined : lineRows(left, right);
  if (rows === undefined || a === null || b === null) {
    return (
      <div class="beside">
        <Whole step={a} text={left} />
        <Whole step={b} text={right} />
      </div>
    );
  }
  return (
    <div class="rows">
      {rows.slice(0, MAX_ROWS).map((row) => (
        <Row row={row} />
      ))}
      {rows.length > MAX_ROWS && <p class="quiet">{plural(rows.length - MAX_ROWS, 'more line')}</p>}
    </div>
  );
}

function Whole({ step, text }: { step: DiffStep | null; text: string }): Html {
  if (step === null) return <div></div>;
  return (
    <div>
      <PlainText text={text} all={`uwf step read ${step.step}`} />
    </div>
  );
}

function Row({ row: { isSame, left, right } }: { row: DiffRow }): Html {
  if (isSame) {
    return (
      <div class="beside">
        <span>{left}</span>
        <span class="again" aria-hidden="true">
          {right}
        </span>
      </div>
    );
  }
  return (
    <div class="beside">
      {left === undefined ? <span></span> : <del>{left}</del>}
      {right === undefined ? <span></span> : <ins>{right}</ins>}
    </div>
  );
}

function wholeText(step: DiffStep | null): string {
  if (step === null) return '';
  const meta = Object.entries(step.meta).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [...meta, '', step.text.trim()].join('\n');
}
