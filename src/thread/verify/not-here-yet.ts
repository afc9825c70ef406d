import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/object-id.ts';

/** A content that was left out when its thread was fetched. A check that needs it waits until somebody reads it. */
export class NotHereYet extends UwfError {
  readonly id: ObjectId;
  constructor(id: ObjectId) {
    super(`object ${id} was not fetched yet`, { code: 'not-here-yet', kind: 'data' });
    this.id = id;
  }
}
