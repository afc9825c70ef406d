import type { SchemaError } from '../../schema/schema-error.ts';
import {
  type FormChoice,
  type FormField,
  type FormShape,
  memberOf,
  ONE_MORE,
  pointerOf,
  rowsOf,
  variantOf,
} from '../questions/read-form-fields.ts';
import type { Html } from './page.tsx';

export type FormState = {
  /** Begins the ids of its elements: a page can have several forms. */
  id: string;
  /** What was typed before, by the names of the fields. */
  typed: URLSearchParams;
  /** What is wrong with it, by the pointers of the values. */
  errors: readonly SchemaError[];
};

/** A list shows so many rows from the start. */
const FIRST_ROWS = 2;

type FieldsProps = { shape: FormShape; at: string; state: FormState };

/** The fields of a shape; `at` is the place of the object that they are members of. */
export function FormFields({ shape, at, state }: FieldsProps): Html {
  return (
    <>
      {shape.fields.map((field) => (
        <Field field={field} at={memberOf(at, field.name)} label={field.label} state={state} />
      ))}
    </>
  );
}

type FieldProps<F = FormField> = { field: F; at: string; label: string; state: FormState };
type Of<Kind> = Extract<FormField, { kind: Kind }>;

function Field({ field, ...props }: FieldProps): Html {
  switch (field.kind) {
    case 'choice':
    case 'several':
      return <Choices field={field} {...props} />;
    case 'object':
      return (
        <Group {...props} field={field}>
          <FormFields shape={field.shape} at={props.at} state={props.state} />
        </Group>
      );
    case 'list':
      return <Rows field={field} {...props} />;
    case 'text':
    case 'number':
    case 'yaml':
      return <Input field={field} {...props} />;
  }
}

function Input({ field, at, label, state }: FieldProps<Of<'text' | 'number' | 'yaml'>>): Html {
  const id = `${state.id}${at}`;
  const attributes = {
    id,
    name: at,
    'aria-required': field.isRequired ? 'true' : undefined,
    ...describing(field, at, state),
  };
  const value = state.typed.get(at) ?? '';
  const isLine = field.kind === 'number' || (field.kind === 'text' && field.isShort);
  return (
    <div class="field">
      <label for={id}>
        {label} <Optional field={field} />
      </label>
      <Words field={field} at={at} state={state} />
      {isLine ? (
        <input type="text" inputmode={field.kind === 'number' ? 'decimal' : undefined} value={value} {...attributes} />
      ) : (
        <textarea rows={field.kind === 'yaml' ? 3 : 2} {...attributes}>
          {value}
        </textarea>
      )}
      <Faults at={at} state={state} />
    </div>
  );
}

function Choices({ field, at, label, state }: FieldProps<Of<'choice' | 'several'>>): Html {
  const isSeveral = field.kind === 'several';
  const words = state.typed.getAll(at);
  const object = at.slice(0, at.lastIndexOf('/'));
  return (
    <Group field={field} at={at} label={label} state={state} isRadio={!isSeveral}>
      <div class={field.choices.every(({ shape }) => shape.fields.length === 0) ? 'choices' : undefined}>
        {field.choices.map(({ word, shape }) => (
          <div class="choice">
            <label>
              <input type={isSeveral ? 'checkbox' : 'radio'} name={at} value={word} checked={words.includes(word)} />{' '}
              {word}
            </label>
            {shape.fields.length > 0 && (
              <div class="own">
                <FormFields shape={shape} at={variantOf(object, word)} state={state} />
              </div>
            )}
          </div>
        ))}
        {!field.isRequired && !isSeveral && (
          <div class="choice">
            <label>
              <input type="radio" name={at} value="" checked={words.length === 0} /> <span class="quiet">not said</span>
            </label>
          </div>
        )}
      </div>
    </Group>
  );
}

function Rows({ field, at, label, state }: FieldProps<Of<'list'>>): Html {
  const rows = Math.min(Math.max(Number(state.typed.get(rowsOf(at))) || 0, FIRST_ROWS, field.least), field.most);
  return (
    <Group field={field} at={at} label={label} state={state}>
      <input type="hidden" name={rowsOf(at)} value={String(rows)} />
      {Array.from({ length: rows }, (_, row) => (
        <Field field={field.item} at={memberOf(at, row)} label={`${label} ${row + 1}`} state={state} />
      ))}
      {rows < field.most && (
        <button type="submit" class="plain" name={ONE_MORE} value={at}>
          One more row<span class="hidden"> of {label}</span>
        </button>
      )}
    </Group>
  );
}

type GroupProps = FieldProps & { isRadio?: boolean; children?: unknown };

/** Fields that belong together, under one name. */
function Group({ field, at, label, state, isRadio = false, children }: GroupProps): Html {
  return (
    <fieldset
      id={`${state.id}${at}`}
      {...describing(field, at, state)}
      role={isRadio ? 'radiogroup' : undefined}
      aria-required={isRadio && field.isRequired ? 'true' : undefined}
    >
      <legend>
        {label} <Optional field={field} />
      </legend>
      <Words field={field} at={at} state={state} />
      {children}
      <Faults at={at} state={state} />
    </fieldset>
  );
}

function Optional({ field }: { field: FormField }): Html | null {
  return field.isRequired || field.name === '' ? null : <span class="quiet">(optional)</span>;
}

function Words({ field, at, state }: { field: FormField; at: string; state: FormState }): Html | null {
  if (field.words === '') return null;
  return (
    <p class="words" id={`${state.id}${at}:words`}>
      {field.words}
    </p>
  );
}

function Faults({ at, state }: { at: string; state: FormState }): Html | null {
  const messages = faultsAt(at, state.errors);
  return messages.length === 0 ? null : (
    <p class="refusal" id={`${state.id}${at}:refusal`}>
      {messages.join('; ')}
    </p>
  );
}

/** What refers a field to its words and to what is wrong with it. */
function describing(field: FormField, at: string, { id, errors }: FormState): Record<string, string> {
  const isWrong = faultsAt(at, errors).length > 0;
  const hasWords = field.words !== '';
  const ids = [...(hasWords ? [`${id}${at}:words`] : []), ...(isWrong ? [`${id}${at}:refusal`] : [])];
  const isGroup = field.kind === 'object' || field.kind === 'list' || field.kind === 'several';
  return {
    ...(ids.length > 0 && { 'aria-describedby': ids.join(' ') }),
    ...(isWrong && !isGroup && { 'aria-invalid': 'true' }),
  };
}

function faultsAt(at: string, errors: readonly SchemaError[]): string[] {
  return errors.filter(({ path }) => path === pointerOf(at)).map(({ message }) => message);
}

/** Whether a form is one choice: then each value is a button. */
export function onlyChoice({ fields }: FormShape): { field: FormField; choices: readonly FormChoice[] } | undefined {
  const [field, another] = fields;
  if (field?.kind !== 'choice' || another !== undefined || field.choices.length > MAX_BUTTONS) return undefined;
  const isPlain = field.isRequired && field.choices.every(({ shape }) => shape.fields.length === 0);
  return isPlain ? { field, choices: field.choices } : undefined;
}

const MAX_BUTTONS = 6;
