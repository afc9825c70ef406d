import { UwfError } from '../errors.ts';

/** A text that is no Liquid template, or uses what templates of uwf must not. */
export class TemplateSyntaxError extends UwfError {
  readonly template: string;
  readonly reason: string;
  /** 1-based, within the template. */
  readonly line: number;
  /** 1-based, in UTF-16 units. */
  readonly column: number;

  constructor(template: string, reason: string, line: number, column: number) {
    super(`the template is not Liquid: ${reason} (line ${line}, column ${column})`, {
      code: 'template-syntax',
      kind: 'data',
      hint: 'see https://liquidjs.com for tags and filters',
    });
    this.template = template;
    this.reason = reason;
    this.line = line;
    this.column = column;
  }
}

/** A template that could not be rendered, or not within its limits of time and size. */
export class TemplateFailed extends UwfError {
  readonly template: string;
  readonly reason: string;

  constructor(template: string, reason: string) {
    super(`the template failed: ${reason}`, { code: 'template-failed', kind: 'data' });
    this.template = template;
    this.reason = reason;
  }
}
