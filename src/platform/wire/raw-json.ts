/**
 * An answer that is JSON text already, so that it need not be parsed and written again on its way to a client. Socket.IO
 * packets carry the text as it is (raw-encoder); everything else that writes JSON gets the object by `toJSON`.
 */
export class RawJson {
  /** @param text of one object with at least one field */
  constructor(readonly text: string) {}

  /** The same object with `ok: true` before its fields: the acknowledgement of a socket event. */
  asOk(): RawJson {
    return new RawJson(`{"ok":true,${this.text.slice(1)}`);
  }

  toJSON(): unknown {
    return JSON.parse(this.text) as unknown;
  }
}
